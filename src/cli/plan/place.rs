//! Names of files, as typed and as printed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::PlanError;
use crate::input::ReadOptions;
use crate::input::archive::{Archive, Member};
use crate::report::visible;

/// The highest core number: the viewer knows 1024 CPUs.
const CORE_MAX: u16 = 1023;

/// A file, or standard input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Place {
    Standard,
    File(PathBuf),
}

impl Place {
    pub(in crate::cli) fn from_arg(path: &Path) -> Place {
        if path.as_os_str() == "-" { Place::Standard } else { Place::File(path.to_path_buf()) }
    }

    /// Where a result goes: without a name to standard output.
    pub(in crate::cli) fn of_result(path: Option<&Path>) -> Place {
        path.map_or(Place::Standard, Place::from_arg)
    }

    /// The name as typed, see [`path_text`].
    pub(in crate::cli) fn as_typed(&self) -> String {
        match self {
            Place::Standard => "-".into(),
            Place::File(path) => path_text(path),
        }
    }

    /// The name as typed in hexadecimal digits, if it is not Unicode.
    pub(in crate::cli) fn raw_name(&self) -> Option<String> {
        let path = file(self).filter(|path| path.to_str().is_none())?;
        Some(path.as_os_str().as_encoded_bytes().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// An input in a sentence.
    pub(in crate::cli) fn for_people(&self) -> String {
        match self {
            Place::Standard => "standard input".into(),
            Place::File(path) => shown(path),
        }
    }

    /// An output in a sentence.
    pub(in crate::cli) fn as_output(&self) -> String {
        match self {
            Place::Standard => "standard output".into(),
            Place::File(path) => shown(path),
        }
    }
}

/// A path in a sentence.
pub(in crate::cli) fn shown(path: &Path) -> String {
    visible(&path_text(path)).into_owned()
}

/// A path as text. Bytes that are not Unicode are written as `\xNN`.
pub(in crate::cli) fn path_text(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

/// An input as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct SourceName {
    /// The file; of a member of an archive that of the archive.
    pub(in crate::cli) place: Place,
    pub(in crate::cli) member: Option<ArchiveMember>,
    pub(in crate::cli) core: Option<u16>,
}

/// A file in an archive.
#[derive(Clone, Debug)]
pub(in crate::cli) struct ArchiveMember {
    pub(in crate::cli) archive: Arc<Archive>,
    pub(in crate::cli) member: Member,
}

impl PartialEq for ArchiveMember {
    fn eq(&self, other: &ArchiveMember) -> bool {
        Arc::ptr_eq(&self.archive, &other.archive) && self.member == other.member
    }
}

impl Eq for ArchiveMember {}

impl SourceName {
    /// A file, or standard input.
    pub(in crate::cli) fn of(place: Place) -> SourceName {
        SourceName { place, member: None, core: None }
    }

    /// Splits `FILE@CORE` and `ARCHIVE!MEMBER`. A file that has the whole name wins, so that names with an `@` or `!` keep working.
    pub(in crate::cli) fn parse(arg: &Path, options: &ReadOptions) -> Result<SourceName, PlanError> {
        let whole = || SourceName::of(Place::from_arg(arg));
        if fs::symlink_metadata(arg).is_ok() {
            return Ok(whole());
        }
        let in_archive = SourceName::in_archive(arg, options);
        if let Ok(Some(named)) = in_archive {
            return Ok(named);
        }
        // ARCHIVE!MEMBER@CORE, too.
        let Some((path, digits)) = split_core(arg.as_os_str()) else { return in_archive.map(|_| whole()) };
        let core = digits.parse().ok().filter(|&core| core <= CORE_MAX).ok_or_else(|| {
            PlanError::Usage(format!(
                "{}: {digits} is not a core number (0 to {}), and no file has the whole name",
                shown(arg),
                CORE_MAX
            ))
        })?;
        let named = SourceName::in_archive(path, options)?.unwrap_or_else(|| SourceName::of(Place::from_arg(path)));
        Ok(SourceName { core: Some(core), ..named })
    }

    /// A member of an archive, if the name is one: the archive's, `!`, and the member's.
    fn in_archive(arg: &Path, options: &ReadOptions) -> Result<Option<SourceName>, PlanError> {
        let bytes = arg.as_os_str().as_encoded_bytes();
        let splits = (1..bytes.len()).filter(|&at| bytes.get(at) == Some(&b'!'));
        for at in splits {
            let Some((path, name)) =
                bytes.split_at_checked(at).and_then(|(path, name)| Some((path_from_bytes(path)?, name.get(1..)?)))
            else {
                continue;
            };
            let Ok(Some(archive)) = Archive::open(path, options) else { continue };
            let found = archive.members().iter().find(|member| member.name.as_bytes() == name).cloned();
            let Some(member) = found else {
                let message = format!("{} has no file {}", shown(path), visible(&String::from_utf8_lossy(name)));
                return Err(PlanError::File(message));
            };
            let member = ArchiveMember { archive: Arc::new(archive), member };
            return Ok(Some(SourceName { place: Place::from_arg(path), member: Some(member), core: None }));
        }
        Ok(None)
    }

    /// The name as typed, without its core, see [`path_text`].
    pub(in crate::cli) fn as_typed(&self) -> String {
        let member = self.member.as_ref().map_or_else(String::new, |of| format!("!{}", of.member.name));
        self.place.as_typed() + &member
    }

    /// The input in a sentence.
    pub(in crate::cli) fn for_people(&self) -> String {
        let member = self.member.as_ref().map_or_else(String::new, |of| format!("!{}", visible(&of.member.name)));
        self.place.for_people() + &member
    }

    /// Whether no output can be called after it and lie beside it: standard input, a device, or a pipe that a shell made (`<(…)`).
    pub(super) fn is_nameless(&self) -> bool {
        file(&self.place).is_none_or(|path| {
            let is_below = |folder| path.starts_with(folder);
            is_below("/dev") && !is_below("/dev/shm") || is_below("/proc")
        })
    }

    /// The length of the file, or of the member, in bytes, if that is known before it is read.
    pub(in crate::cli) fn length(&self) -> Option<u64> {
        match &self.member {
            Some(of) => Some(of.member.bytes),
            None => fs::metadata(file(&self.place)?).ok().map(|metadata| metadata.len()),
        }
    }

    /// The name without its directory.
    pub(super) fn file_name(&self) -> &OsStr {
        if let Some(of) = &self.member {
            return Path::new(&of.member.name).file_name().unwrap_or(OsStr::new("member"));
        }
        file(&self.place).map_or(OsStr::new("stdin"), |path| path.file_name().unwrap_or(OsStr::new("trace")))
    }

    /// The name up to its last dot.
    pub(in crate::cli) fn stem(&self) -> &OsStr {
        let name = self.file_name();
        Path::new(name).file_stem().unwrap_or(name)
    }
}

/// `path@digits`, with something on both sides of the `@`.
fn split_core(arg: &OsStr) -> Option<(&Path, &str)> {
    let bytes = arg.as_encoded_bytes();
    let at = bytes.iter().rposition(|&byte| byte == b'@').filter(|&at| at > 0)?;
    let digits = bytes.get(at + 1..).filter(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))?;
    let path = path_from_bytes(bytes.get(..at)?)?;
    Some((path, std::str::from_utf8(digits).ok()?))
}

/// A piece of a name, cut out at ASCII characters.
#[cfg(unix)]
pub(in crate::cli) fn os_from_bytes(bytes: &[u8]) -> Option<&OsStr> {
    Some(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes))
}

/// Elsewhere only names that are Unicode can be taken apart without `unsafe`.
#[cfg(not(unix))]
pub(in crate::cli) fn os_from_bytes(bytes: &[u8]) -> Option<&OsStr> {
    std::str::from_utf8(bytes).ok().map(OsStr::new)
}

pub(super) fn path_from_bytes(bytes: &[u8]) -> Option<&Path> {
    os_from_bytes(bytes).map(Path::new)
}

/// The directory that a file is in; never empty.
pub(in crate::cli) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(in crate::cli) fn file(place: &Place) -> Option<&Path> {
    match place {
        Place::File(path) => Some(path),
        Place::Standard => None,
    }
}

/// Which regular file a name leads to, by whatever links.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileId {
    #[cfg(unix)]
    device_and_inode: (u64, u64),
    #[cfg(not(unix))]
    path: PathBuf,
}

impl FileId {
    pub(super) fn of(path: &Path) -> Option<FileId> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Some(FileId { device_and_inode: (metadata.dev(), metadata.ino()) })
        }
        #[cfg(not(unix))]
        {
            let _ = metadata;
            Some(FileId { path: fs::canonicalize(path).ok()? })
        }
    }
}

/// Whether two names lead to one regular file, by whatever links.
pub(super) fn is_same_file(one: &Path, two: &Path) -> bool {
    FileId::of(one).is_some_and(|one| FileId::of(two) == Some(one))
}
