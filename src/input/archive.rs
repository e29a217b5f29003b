//! Archives of recordings: tar, also compressed, and ZIP. Each regular file in one is an input of its own.
//!
//! Nothing is extracted to a place that an archive names: a member's bytes go the way of every other input. Members that are links,
//! are encrypted, or have a name that leads out of the archive (`..`, an absolute path) are refused, and say why.

use std::borrow::Cow;
use std::io::{self, Cursor, Read, Seek};
use std::path::{Component, Path};

use tar::EntryType;
use zip::ZipArchive;
use zip::read::{ZipFile, read_zipfile_from_stream};

use super::layer::decompressed;
use super::{Bytes, COMPRESSED_HEAD_BYTES, Damage, Input, InputError, ReadOptions, beginning, is_compressed};
use crate::model::losses;

/// More members than this are an attack or a mistake.
const MEMBERS_MAX: usize = 100_000;

/// The number of bytes that show whether a file is an archive: a block of tar.
const HEAD_BYTES: usize = 512;

/// An opened archive.
pub struct Archive {
    bytes: Bytes,
    kind: Kind,
    members: Vec<Member>,
    problem: Option<String>,
}

/// The kind of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tar,
    Zip,
    /// Without the directory at its end: its files are found by their own headers.
    CutZip,
}

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its path in the archive, with `/` between directories.
    pub name: String,
    /// Why it is refused, if it is: the end of a sentence that begins with its name.
    pub problem: Option<String>,
    /// Tar: where its content begins. ZIP: its number, or where its header begins if the archive is cut off.
    at: u64,
    /// The length of its content, as the archive states it.
    pub bytes: u64,
}

impl Member {
    /// Whether it is hidden, or a note of macOS beside a file: not meant as an input.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        let is_hidden = |part: &str| part.starts_with('.') && part != ".." && part != "." || part == "__MACOSX";
        self.name.split('/').any(is_hidden)
    }
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive").field("kind", &self.kind).field("members", &self.members.len()).finish()
    }
}

impl Archive {
    /// Opens a file if it is an archive; `None` if it is something else.
    ///
    /// # Errors
    /// When it is an archive that cannot be read, or has too many members.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Option<Archive>, InputError> {
        // Opening a pipe would wait for its writer, and consume its data.
        if !std::fs::metadata(path).map_err(InputError::Open)?.is_file() {
            return Ok(None);
        }
        let mut head = Vec::new();
        let mut file = std::fs::File::open(path).map_err(InputError::Open)?;
        let mut read = |bytes: usize, head: &mut Vec<u8>| {
            Read::by_ref(&mut file).take(bytes as u64).read_to_end(head).map_err(InputError::Read)
        };
        read(HEAD_BYTES, &mut head)?;
        if is_compressed(&head) {
            read(COMPRESSED_HEAD_BYTES, &mut head)?;
        }
        if Kind::inside(&head).is_none() {
            return Ok(None);
        }
        let Input { bytes, damages, .. } = Input::open(path, options)?;
        let Some(mut kind) = Kind::of(&bytes) else { return Ok(None) };
        let unreadable = |error: io::Error| InputError::Archive(format!("cannot be read as an archive: {error}"));
        let (members, cut) = match kind {
            Kind::Tar => tar_members(&bytes),
            Kind::Zip | Kind::CutZip => match zip_members(&bytes) {
                Ok(members) => (members, None),
                Err(error) => {
                    kind = Kind::CutZip;
                    (cut_zip_members(&bytes), Some(error))
                }
            },
        };
        if bytes.was_cut_short() {
            return Err(InputError::CutShort);
        }
        check_number(members.len()).map_err(unreadable)?;
        let cut = match cut {
            Some(error) if members.is_empty() => return Err(unreadable(error)),
            cut => damages.into_iter().map(|damage| damage.detail).next().or_else(|| cut.map(|error| error.to_string())),
        };
        if is_logic_session(&members) {
            return Err(InputError::Archive(format!("cannot be read as an archive: {LOGIC_SESSION}")));
        }
        let problem = cut.map(|why| {
            // It becomes a part of a sentence, which is one line.
            let last = members.last().map_or_else(String::new, |member| member.name.replace(char::is_control, "\u{fffd}"));
            format!("is cut off or damaged ({why}): files after {last} may be missing. Copy the archive again")
        });
        Ok(Some(Archive { bytes, kind, members, problem }))
    }

    /// Why files may be missing, if they may: the end of a sentence that begins with its name.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// The files in it, in their order.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Reads a file of it.
    ///
    /// # Errors
    /// When it is refused, cannot be read, is empty, or is too large.
    pub fn read(&self, member: &Member, options: &ReadOptions) -> Result<Input, InputError> {
        if let Some(problem) = &member.problem {
            return Err(InputError::Archive(problem.clone()));
        }
        let start = usize::try_from(member.at).unwrap_or(usize::MAX);
        let mut rest = self.bytes.get(start..).unwrap_or_default();
        let input = match self.kind {
            Kind::Tar => {
                let len = usize::try_from(member.bytes).unwrap_or(usize::MAX);
                match rest.get(..len) {
                    Some(mut content) => Input::read(&mut content, options),
                    None => cut_within(Input::read(&mut rest, options)),
                }
            }
            Kind::Zip => {
                let mut archive =
                    ZipArchive::new(Cursor::new(&*self.bytes)).map_err(|error| InputError::Archive(error.to_string()))?;
                let mut file = archive.by_index(start).map_err(|error| InputError::Archive(error.to_string()))?;
                read_unpacked(&mut file, options, Input::read)
            }
            Kind::CutZip => match read_zipfile_from_stream(&mut rest) {
                Ok(Some(mut file)) => read_unpacked(&mut file, options, read_cut),
                Ok(None) => Err(InputError::Archive(CUT_BEFORE.to_owned())),
                Err(error) => Err(InputError::Archive(error.to_string())),
            },
        };
        if self.bytes.was_cut_short() { Err(InputError::CutShort) } else { input }
    }
}

/// Of a file of an archive that has nothing of its content.
const CUT_BEFORE: &str = "is missing: the archive is cut off before its content";

/// Reads the content of a file in a ZIP archive. The size in the directory need not be true.
fn read_unpacked(
    file: &mut dyn Read,
    options: &ReadOptions,
    read: impl FnOnce(&mut dyn Read, &ReadOptions) -> Result<Input, InputError>,
) -> Result<Input, InputError> {
    let limit = options.max_decompressed_bytes;
    let mut limited = file.take(limit.saturating_add(1));
    let input = read(&mut limited, options)?;
    if limited.limit() == 0 {
        return Err(InputError::TooLarge { what: "ZIP", limit_bytes: limit });
    }
    Ok(input)
}

/// Reads a file of an archive that may end within it.
fn read_cut(content: &mut dyn Read, options: &ReadOptions) -> Result<Input, InputError> {
    let mut content = UntilError { content, is_cut: false };
    let input = Input::read(&mut content, options);
    if content.is_cut { cut_within(input) } else { input }
}

/// The beginning of a file, which is all that there is of it.
fn cut_within(input: Result<Input, InputError>) -> Result<Input, InputError> {
    match input {
        Ok(mut input) => {
            let offset = input.bytes.len() as u64;
            let detail = "the archive is cut off or damaged within this file, and the rest of it is missing".to_owned();
            input.damages.push(Damage { kind: losses::ARCHIVE_CUT, offset, count: 1, at_least_lost: 1, detail });
            Ok(input)
        }
        Err(InputError::Empty) => Err(InputError::Archive(CUT_BEFORE.to_owned())),
        Err(error) => Err(error),
    }
}

/// Reads until something cannot be read.
struct UntilError<'a> {
    content: &'a mut dyn Read,
    is_cut: bool,
}

impl Read for UntilError<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.content.read(buffer) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.is_cut = true;
                Ok(0)
            }
            read => read,
        }
    }
}

/// The levels of pins: a recording has to be decoded from them first.
const LOGIC_SESSION: &str = "it is a session of a logic analyser (sigrok), with the levels of pins, not the bytes that were sent on them. Decode \
     them first, and save the bytes: for a UART as `sigrok-cli -i FILE -P uart:rx=PIN:baudrate=RATE -B uart=rx > recording.bin`";

/// Whether these are the files of a session of sigrok: `version`, `metadata`, and samples in `logic-1-1` and so on (its documentation, "File
/// format: sigrok/v2").
fn is_logic_session(members: &[Member]) -> bool {
    let has = |wanted: &str| members.iter().any(|member| member.name == wanted);
    has("version") && has("metadata") && members.iter().any(|member| member.name.starts_with("logic-1"))
}

impl Kind {
    /// By the first bytes of the archive itself.
    fn of(head: &[u8]) -> Option<Kind> {
        if head.get(257..).is_some_and(|magic| magic.starts_with(b"ustar")) {
            Some(Kind::Tar)
        } else if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
            Some(Kind::Zip)
        } else {
            None
        }
    }

    /// By the first bytes of a file, which may be compressed.
    fn inside(head: &[u8]) -> Option<Kind> {
        let start = beginning(head);
        // A ZIP archive that is compressed once more is not read.
        Kind::of(&start).filter(|kind| *kind == Kind::Tar || start == head)
    }
}

/// Whether these bytes are an archive.
#[must_use]
pub fn is_archive(bytes: &[u8]) -> bool {
    Kind::of(bytes.get(..HEAD_BYTES).unwrap_or(bytes)).is_some()
}

/// Whether a file is an archive, by its first [`COMPRESSED_HEAD_BYTES`], or all of them.
#[must_use]
pub fn begins_archive(head: &[u8]) -> bool {
    Kind::inside(head).is_some()
}

/// Takes a file of an archive: its name and size, its position if it is there as it is, and its content.
pub type Receiver<'a> = dyn FnMut(Member, Option<u64>, &mut dyn Read) -> io::Result<()> + 'a;

/// Calls `take` with each file of an archive, in their order, and its content. The memory that this needs depends neither on the length of
/// the archive nor on that of its files. The content of a file that is refused is empty. Where a file is in the archive as it is, not
/// compressed, `take` gets its position too.
///
/// # Errors
/// When the archive cannot be read, has too many files, or `take` fails.
pub fn for_each<R: Read + Seek>(mut archive: R, take: &mut Receiver<'_>) -> io::Result<()> {
    let mut head = Vec::new();
    archive.by_ref().take(COMPRESSED_HEAD_BYTES as u64).read_to_end(&mut head)?;
    archive.rewind()?;
    match Kind::inside(&head) {
        Some(Kind::Zip | Kind::CutZip) => zip_files(archive, take),
        Some(Kind::Tar) if is_compressed(&head) => {
            let mut read = |member, content: &mut dyn Read| take(member, None, content);
            tar_files(tar::Archive::new(decompressed(archive, &head)?).entries()?, &mut read).map(drop)
        }
        Some(Kind::Tar) => {
            let mut read = |member: Member, content: &mut dyn Read| {
                let position = member.at;
                take(member, Some(position), content)
            };
            tar_files(tar::Archive::new(archive).entries_with_seek()?, &mut read).map(drop)
        }
        None => Err(io::Error::other("it is not a tar or ZIP archive")),
    }
}

/// The files, and why there may be more of them.
fn tar_members(bytes: &[u8]) -> (Vec<Member>, Option<io::Error>) {
    let mut members = Vec::new();
    let listed = tar::Archive::new(bytes).entries().and_then(|entries| {
        tar_files(entries, &mut |member, _| {
            members.push(member);
            Ok(())
        })
    });
    let cut = match listed {
        // A tar archive ends with blocks of zeros. Without them it was cut off between two files.
        Ok(end) => {
            let is_end = usize::try_from(end).ok().and_then(|end| bytes.get(end..)?.get(..HEAD_BYTES));
            let is_end = is_end.is_some_and(|block| block.iter().all(|&byte| byte == 0));
            (!is_end).then(|| io::Error::other("it has no end mark"))
        }
        Err(error) => Some(error),
    };
    (members, cut)
}

/// Returns where the last file ends.
fn tar_files<R: Read>(
    entries: tar::Entries<'_, R>,
    take: &mut dyn FnMut(Member, &mut dyn Read) -> io::Result<()>,
) -> io::Result<u64> {
    let (mut files, mut end) = (0, 0);
    for entry in entries {
        let mut entry = entry?;
        end = entry.raw_file_position().saturating_add(entry.size()).next_multiple_of(HEAD_BYTES as u64);
        // `tar -c .` writes all names like this.
        let name = String::from_utf8_lossy(&entry.path_bytes()).trim_start_matches("./").to_owned();
        let problem = match entry.header().entry_type() {
            EntryType::Directory | EntryType::XGlobalHeader => continue,
            EntryType::Regular | EntryType::Continuous => leads_out(&name),
            EntryType::Symlink | EntryType::Link => Some("is a link in an archive, which is not followed".to_owned()),
            _ => Some("is not a plain file of the archive".to_owned()),
        };
        files += 1;
        check_number(files)?;
        let member = Member { name, problem, at: entry.raw_file_position(), bytes: entry.size() };
        match member.problem {
            None => take(member, &mut entry)?,
            Some(_) => take(member, &mut io::empty())?,
        }
    }
    Ok(end)
}

fn zip_members(bytes: &[u8]) -> io::Result<Vec<Member>> {
    let mut archive = ZipArchive::new(Cursor::new(bytes))?;
    check_number(archive.len())?;
    (0..archive.len()).filter_map(|number| zip_member(&mut archive, number).transpose()).collect()
}

/// The files of an archive that lacks its end, where their directory is.
fn cut_zip_members(bytes: &[u8]) -> Vec<Member> {
    let mut members = Vec::new();
    let mut rest = bytes;
    loop {
        let at = (bytes.len() - rest.len()) as u64;
        // What is dropped takes its content along.
        match read_zipfile_from_stream(&mut rest) {
            Ok(Some(file)) if members.len() <= MEMBERS_MAX => members.extend(member_of(&file, at)),
            _ => return members,
        }
    }
}

fn zip_files<R: Read + Seek>(archive: R, take: &mut Receiver<'_>) -> io::Result<()> {
    let mut archive = ZipArchive::new(archive)?;
    check_number(archive.len())?;
    for number in 0..archive.len() {
        let Some(member) = zip_member(&mut archive, number)? else { continue };
        match member.problem {
            None => take(member, None, &mut archive.by_index(number)?)?,
            Some(_) => take(member, None, &mut io::empty())?,
        }
    }
    Ok(())
}

/// `None` if it is a directory.
fn zip_member<R: Read + Seek>(archive: &mut ZipArchive<R>, number: usize) -> io::Result<Option<Member>> {
    Ok(member_of(&archive.by_index_raw(number)?, number as u64))
}

fn member_of<R: Read>(file: &ZipFile<'_, R>, at: u64) -> Option<Member> {
    if file.is_dir() {
        return None;
    }
    let name = file.name().map_or_else(|_| String::from_utf8_lossy(file.name_raw()).into_owned(), Cow::into_owned);
    let problem = if file.is_symlink() {
        Some("is a link in an archive, which is not followed".to_owned())
    } else if file.encrypted() {
        Some("is encrypted".to_owned())
    } else {
        leads_out(&name)
    };
    Some(Member { name, problem, at, bytes: file.size() })
}

fn check_number(members: usize) -> io::Result<()> {
    if members > MEMBERS_MAX {
        return Err(io::Error::other(format!("it has more than {MEMBERS_MAX} files")));
    }
    Ok(())
}

fn leads_out(name: &str) -> Option<String> {
    let is_inside = |component: Component<'_>| matches!(component, Component::Normal(_) | Component::CurDir);
    let is_plain = !name.is_empty() && !name.contains('\\') && Path::new(name).components().all(is_inside);
    (!is_plain).then(|| "has a name that leads out of its archive".to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn tar_of(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, kind, content) in entries {
            let mut header = tar::Header::new_ustar();
            // Written by hand: the builder refuses names that lead out.
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            if *kind == EntryType::Symlink {
                header.set_link_name("/etc/passwd").unwrap();
            }
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn zip_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (number, (name, content)) in entries.iter().enumerate() {
            let method = if number % 2 == 0 { zip::CompressionMethod::Stored } else { zip::CompressionMethod::Deflated };
            let options = zip::write::SimpleFileOptions::default().compression_method(method);
            writer.start_file(*name, options).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn open(bytes: &[u8], options: &ReadOptions) -> Result<Option<Archive>, InputError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        Archive::open(&path, options)
    }

    fn contents(archive: &Archive, options: &ReadOptions) -> Vec<(String, Result<Vec<u8>, String>)> {
        let read = |member: &Member| {
            archive.read(member, options).map(|input| input.bytes().to_vec()).map_err(|error| error.to_string())
        };
        archive.members().iter().map(|member| (member.name.clone(), read(member))).collect()
    }

    /// A file's name, and its content or why it is refused.
    type Streamed = (String, Result<Vec<u8>, String>);

    /// The same by [`for_each`].
    fn streamed(bytes: &[u8]) -> io::Result<Vec<Streamed>> {
        let mut found = Vec::new();
        for_each(Cursor::new(bytes), &mut |member, position, content| {
            let mut read = Vec::new();
            content.read_to_end(&mut read)?;
            if let Some(position) = position.filter(|_| member.problem.is_none()) {
                assert_eq!(bytes[position as usize..][..member.bytes as usize], read);
            }
            found.push((member.name, member.problem.map_or(Ok(read), Err)));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn members_are_read_however_the_archive_is_packed() {
        let options = ReadOptions::default();
        let files: [(&str, &[u8]); 2] = [("run/a.bin", &[1, 2, 3, 250]), ("b.bin", &[9; 5000])];
        let tar = tar_of(&files.map(|(name, content)| (name, EntryType::Regular, content)));
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&tar).unwrap();
        let expected = files.map(|(name, content)| (name.to_owned(), Ok(content.to_vec())));
        for packed in [tar.clone(), gzip.finish().unwrap(), zstd::encode_all(&*tar, 1).unwrap(), zip_of(&files)] {
            assert_eq!(contents(&open(&packed, &options).unwrap().unwrap(), &options), expected);
            assert_eq!(streamed(&packed).unwrap(), expected);
        }
        // Recordings hardly compress, so a block of zstd is nearly as long as it can be.
        let mut state = 1u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 57) as u8
        })
        .take(300_000)
        .collect();
        let tar = tar_of(&[("noise.bin", EntryType::Regular, &noise)]);
        let archive = open(&zstd::encode_all(&*tar, 3).unwrap(), &options).unwrap().expect("it is an archive");
        assert_eq!(contents(&archive, &options), [("noise.bin".to_owned(), Ok(noise))]);
        assert!(begins_archive(&tar) && !begins_archive(&[3, 1, 2, 2, 4, 2, 5, 0]));
        assert!(open(&[3, 1, 2, 2, 4, 2, 5, 0], &options).unwrap().is_none());
    }

    #[test]
    fn what_leads_out_is_refused() {
        let options = ReadOptions::default();
        let tar = tar_of(&[
            ("../up.bin", EntryType::Regular, b"x"),
            ("/etc/x.bin", EntryType::Regular, b"x"),
            ("link", EntryType::Symlink, b""),
            ("dir/", EntryType::Directory, b""),
        ]);
        let problems: Vec<_> = contents(&open(&tar, &options).unwrap().unwrap(), &options);
        assert_eq!(problems.len(), 3);
        assert!(problems.iter().all(|(_, read)| read.is_err()), "{problems:?}");
        assert!(problems[2].1.as_ref().unwrap_err().contains("is a link"));
        assert_eq!(streamed(&tar).unwrap(), problems);
        let zip = zip_of(&[("../up.bin", b"x")]);
        assert!(contents(&open(&zip, &options).unwrap().unwrap(), &options)[0].1.is_err());
        // Broken ones are errors, not panics.
        for len in [600, 700] {
            let _ = open(&tar[..len], &options);
            let _ = open(&zip[..zip.len().min(len) - 5], &options);
            let _ = (streamed(&tar[..len]), streamed(&zip[..zip.len().min(len) - 5]));
        }
    }

    #[test]
    fn a_cut_archive_has_the_files_before_the_cut() {
        let options = ReadOptions::default();
        let mut state = 7u32;
        let noise = (0..3000).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 25) as u8
        });
        let content: Vec<u8> = noise.collect();
        let files: [(&str, &[u8]); 3] = [("a", &content), ("b", &content[..999]), ("c", &content[..2000])];
        let tar = tar_of(&files.map(|(name, content)| (name, EntryType::Regular, content)));
        for whole in [zip_of(&files), tar] {
            assert_eq!(open(&whole, &options).unwrap().unwrap().problem(), None);
            let mut found_before = 0;
            for len in (0..whole.len()).step_by(37) {
                let Ok(Some(archive)) = open(&whole[..len], &options) else {
                    assert_eq!(found_before, 0, "{len}");
                    continue;
                };
                let mut is_complete = true;
                for ((name, expected), member) in files.iter().zip(archive.members()) {
                    match archive.read(member, &options) {
                        Ok(input) => {
                            let is_cut = input.damages().iter().any(|damage| damage.kind == losses::ARCHIVE_CUT);
                            assert!(
                                expected.starts_with(input.bytes()) && is_cut == (input.bytes() != *expected),
                                "{name} {len}"
                            );
                            is_complete &= !is_cut;
                        }
                        Err(error) => {
                            assert!(error.to_string().contains("cut off"), "{error}");
                            is_complete = false;
                        }
                    }
                }
                is_complete &= archive.members().len() == files.len();
                assert!(is_complete || archive.problem().is_some(), "{len}");
                assert!(archive.members().len() >= found_before);
                found_before = archive.members().len();
            }
            assert_eq!(found_before, files.len());
        }
    }

    #[test]
    fn a_name_does_not_break_the_line_of_the_problem() {
        let tar = tar_of(&[("a\nerror: b", EntryType::Regular, &[1; 600])]);
        let archive = open(&tar[..1600], &ReadOptions::default()).unwrap().unwrap();
        let problem = archive.problem().unwrap();
        assert!(problem.contains("files after a\u{fffd}error: b may be missing"), "{problem}");
    }

    #[test]
    fn samples_of_pins_are_refused_as_a_whole() {
        let files: [(&str, &[u8]); 4] =
            [("version", b"2"), ("metadata", b"[global]\n"), ("logic-1-1", &[1; 9]), ("logic-1-2", &[0; 9])];
        let error = open(&zip_of(&files), &ReadOptions::default()).expect_err("they are no recordings").to_string();
        assert!(error.contains("sigrok-cli"), "{error}");
        assert!(open(&zip_of(&files[..2]), &ReadOptions::default()).unwrap().is_some());
    }

    #[test]
    fn sizes_are_bounded() {
        let options = ReadOptions { max_decompressed_bytes: 1000, ..ReadOptions::default() };
        let archive = open(&zip_of(&[("a", &[1; 10]), ("b", &[0; 100_000])]), &options).unwrap().unwrap();
        let read = contents(&archive, &options);
        assert_eq!(read[0].1, Ok(vec![1; 10]));
        assert!(read[1].1.as_ref().unwrap_err().contains("--max-decompressed"), "{read:?}");
    }
}
