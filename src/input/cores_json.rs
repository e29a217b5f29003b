//! JSON with the recording of each core as hex text, `{"trace_mode": "freertos", "data": [{"core_id": 0, "hex": "…"}]}`: what the web
//! converter of Tonbandgerät exchanges.

use memchr::memmem;
use serde::Deserialize;

use super::{Bytes, Input, InputError, Layer, ReadOptions, text};
use crate::input::spool::Spool;

/// The cores of one recording.
#[derive(Debug)]
pub(super) struct CoresJson {
    /// Each core's number and recording.
    pub(super) cores: Vec<(u16, Input)>,
}

#[derive(Deserialize)]
struct Document {
    data: Vec<CoreData>,
}

#[derive(Deserialize)]
struct CoreData {
    core_id: u16,
    hex: String,
}

impl CoresJson {
    /// The content of `input`; `None` if it is something else.
    ///
    /// # Errors
    /// When the recording of a core does not fit anywhere.
    pub(super) fn read(input: &Input, options: &ReadOptions) -> Result<Option<CoresJson>, InputError> {
        let bytes = input.bytes();
        let is_object = bytes.trim_ascii_start().starts_with(b"{");
        if !is_object || memmem::find(bytes, b"\"core_id\"").is_none() {
            return Ok(None);
        }
        let Ok(Document { data }) = serde_json::from_slice(bytes) else { return Ok(None) };
        let mut cores = Vec::with_capacity(data.len());
        for CoreData { core_id, hex } in data {
            let mut spool = Spool::new(options);
            let damage = text::decode_hex(&Bytes::from(hex.into_bytes()), &mut spool)?;
            let layers = [input.layers(), &[Layer::Hex]].concat();
            let damages = input.damages.iter().cloned().chain(damage).collect();
            let (bytes, file_bytes) = (spool.finish()?, input.file_bytes);
            cores.push((core_id, Input { bytes, layers, file_bytes, damages, part: None, notes: Vec::new() }));
        }
        Ok(Some(CoresJson { cores }).filter(|json| !json.cores.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::FormatOptions;

    #[test]
    fn each_core_is_a_recording() {
        let path = |name| format!("{}/testdata/demo/{name}", env!("CARGO_MANIFEST_DIR"));
        let captures = ["dual-0.bin", "dual-1.bin"].map(|name| std::fs::read(path(name)).unwrap());
        let hex = captures.each_ref().map(|capture| data_encoding::HEXLOWER.encode(capture));
        let json = format!(
            "\n{{\"title\": \"t\", \"trace_mode\": \"freertos\", \"data\": [{{\"core_id\": 1, \"hex\": \"{}\"}}, {{\"hex\": \"{}\", \"core_id\": 0}}]}}",
            hex[1], hex[0]
        );
        let recognise = |text: String, core| {
            let options = ReadOptions::default();
            let input = Input::from_vec(text.into_bytes(), &options).unwrap();
            input.recognise(None, &FormatOptions { core, ..FormatOptions::default() }, &options)
        };
        let found = recognise(json.clone(), None).unwrap();
        let shape = |found: &[super::super::Recognised]| -> Vec<(Option<u16>, Vec<u8>)> {
            found.iter().map(|one| (one.options.core, one.input.bytes().to_vec())).collect()
        };
        assert_eq!(shape(&found), [(Some(1), captures[1].clone()), (Some(0), captures[0].clone())]);
        assert_eq!(found[0].input.file_bytes(), json.len() as u64);
        assert!(recognise(json, Some(0)).is_err(), "one core is named for two");
        let one = format!("{{\"data\": [{{\"core_id\": 0, \"hex\": \"{}\"}}]}}", hex[0]);
        assert_eq!(shape(&recognise(one, None).unwrap()), [(None, captures[0].clone())]);
        let other = "{\"data\": [{\"core_id\": \"x\"}]}".to_owned();
        assert!(recognise(other, None).unwrap_err().to_string().contains("is a text file"));
    }
}
