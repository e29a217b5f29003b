//! Protobuf's wire format as it is, below any schema: errors that generated code smooths over have to be seen here.

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 1.
    Fixed64(u64),
    /// Wire type 2.
    Bytes(&'a [u8]),
}

/// The fields of a message with their numbers, in the order of the bytes.
pub fn fields(mut bytes: &[u8]) -> Result<Vec<(u64, Field<'_>)>, String> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let value = match key & 7 {
            0 => Field::Varint(varint(&mut bytes)?),
            1 => Field::Fixed64(u64::from_le_bytes(take(&mut bytes, 8)?.try_into().unwrap())),
            2 => {
                let len = varint(&mut bytes)?;
                Field::Bytes(take(&mut bytes, len)?)
            }
            other => return Err(format!("field {} has wire type {other}", key >> 3)),
        };
        fields.push((key >> 3, value));
    }
    Ok(fields)
}

/// Takes a varint off the front.
pub fn varint(bytes: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("a varint of more than 10 bytes".into())
}

fn take<'a>(bytes: &mut &'a [u8], len: u64) -> Result<&'a [u8], String> {
    let len = usize::try_from(len).map_err(|_| "a length beyond all memory")?;
    let (taken, rest) = bytes.split_at_checked(len).ok_or_else(|| format!("{len} bytes announced, {} are left", bytes.len()))?;
    *bytes = rest;
    Ok(taken)
}
