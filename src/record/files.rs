//! The files of a recording: the bytes, and the notes beside them.
//!
//! While it is written, a recording is called `run.bin.part`. At its end it is synchronised to the disk and gets its name, the notes before
//! the bytes: a file of the final name is whole. An interrupted run leaves a valid recording too, under the name of the part.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::input::sidecar::{self, Line};

/// When a new file is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// When a file has this number of bytes.
    Bytes(u64),
    /// When a file has been written for this time.
    Time(Duration),
}

/// Bytes that come within this time are one piece of [`Keep::Last`], up to a size: a slow line sends a few at a time.
const KEPT_TIME: Duration = Duration::from_millis(50);
const KEPT_BYTES: usize = 4 << 10;

/// The part of a recording that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// All of it, in one file.
    #[default]
    All,
    /// Files one after the other, of which the newest are kept: all, or a number of them.
    Files(Rotation, Option<usize>),
    /// The bytes of the last time, and at most a number of them. They are in memory until the end.
    Last(Duration, usize),
}

/// The output of a recording.
pub struct Output {
    target: PathBuf,
    keep: Keep,
    started: Instant,
    /// The first line of the notes.
    head: Line,
    part: Option<Part>,
    /// Of [`Keep::Last`].
    last: VecDeque<(Instant, Kept)>,
    last_bytes: usize,
    /// The files that are complete, the oldest first.
    complete: VecDeque<PathBuf>,
    number: usize,
    /// Bytes of all files so far.
    written: u64,
}

enum Kept {
    Bytes(Vec<u8>),
    Line(Line),
}

/// A file that is being written.
struct Part {
    target: PathBuf,
    path: PathBuf,
    file: File,
    /// `None` for a device or a FIFO.
    notes: Option<File>,
    bytes: u64,
    /// When its first bytes came.
    began: Option<Instant>,
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}

/// The name of a file of a rotation: its number is before the extension.
#[must_use]
pub fn numbered(path: &Path, number: usize) -> PathBuf {
    let extension = path.extension().map(|extension| format!(".{}", extension.to_string_lossy())).unwrap_or_default();
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".{number:03}{extension}"));
    path.with_file_name(name)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file that a recording of this name would replace, at once or when a rotation comes to it.
fn in_the_way(target: &Path, keep: Keep) -> Option<PathBuf> {
    if !matches!(keep, Keep::Files(..)) {
        return fs::metadata(target).is_ok_and(|metadata| metadata.is_file()).then(|| target.to_path_buf());
    }
    let names = fs::read_dir(folder_of(target)).ok()?.filter_map(Result::ok).map(|entry| entry.file_name());
    names.filter(|name| is_numbered(target, name)).min().map(|name| target.with_file_name(name))
}

/// Whether a file of this name may be one of the rotation of `target`.
fn is_numbered(target: &Path, name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    let mut numbers = text.split('.').filter_map(|part| part.parse::<usize>().ok());
    numbers.any(|number| numbered(target, number).file_name() == Some(name))
}

fn json(line: &Line) -> Vec<u8> {
    // Serde's interface can fail, this value cannot.
    let mut text = serde_json::to_vec(line).unwrap_or_default();
    text.push(b'\n');
    text
}

impl Part {
    fn create(target: &Path) -> io::Result<Part> {
        let is_special = fs::metadata(target).is_ok_and(|metadata| !metadata.is_file());
        if is_special {
            let file = OpenOptions::new().write(true).open(target)?;
            return Ok(Part { target: target.into(), path: target.into(), file, notes: None, bytes: 0, began: None });
        }
        let path = with_end(target, ".part");
        let create = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
        let file = create(&path)?;
        // Notes without a recording are left over.
        let _ = fs::remove_file(sidecar::beside(&path));
        let notes = match create(&sidecar::beside(&path)) {
            Ok(notes) => notes,
            Err(error) => {
                let _ = fs::remove_file(&path);
                return Err(error);
            }
        };
        Ok(Part { target: target.into(), path, file, notes: Some(notes), bytes: 0, began: None })
    }

    /// Writes bytes. On an error those before it are in the file.
    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(len) => {
                    self.bytes += len as u64;
                    bytes = bytes.get(len..).unwrap_or(&[]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn note(&mut self, line: &Line) -> io::Result<()> {
        match &mut self.notes {
            Some(notes) => notes.write_all(&json(line)),
            None => Ok(()),
        }
    }

    /// Ends the file and gives it its name.
    fn finish(mut self, end: &Line) -> io::Result<PathBuf> {
        // A recording without its last note is whole.
        let _ = self.note(&Line { offset: self.bytes, ..end.clone() });
        let Some(notes) = &self.notes else { return Ok(self.target) };
        notes.sync_all()?;
        self.file.sync_all()?;
        fs::rename(sidecar::beside(&self.path), sidecar::beside(&self.target))?;
        fs::rename(&self.path, &self.target)?;
        // Not every system synchronises directories.
        let _ = File::open(folder_of(&self.target)).and_then(|folder| folder.sync_all());
        Ok(self.target)
    }
}

impl Output {
    /// Begins a recording. `head` is the first line of its notes.
    ///
    /// # Errors
    /// When the file cannot be created; also when it, or any file of a rotation, is there already, unless it may be `replaced`.
    pub fn create(target: &Path, keep: Keep, head: Line, replaced: bool) -> io::Result<Output> {
        let first = if matches!(keep, Keep::Files(..)) { numbered(target, 0) } else { target.to_path_buf() };
        if !replaced && let Some(path) = in_the_way(target, keep) {
            let message = format!("{} is there already; --force replaces it", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        let mut output = Output {
            target: target.into(),
            keep,
            started: Instant::now(),
            head,
            part: None,
            last: VecDeque::new(),
            last_bytes: 0,
            complete: VecDeque::new(),
            number: 0,
            written: 0,
        };
        output.begin(&first)?;
        Ok(output)
    }

    fn begin(&mut self, target: &Path) -> io::Result<()> {
        let part = Part::create(target).map_err(|error| {
            if error.kind() != io::ErrorKind::AlreadyExists {
                return error;
            }
            let part = with_end(target, ".part");
            let message = format!(
                "{} is there already: another recording is running, or one was interrupted; rename it to keep it, or remove it",
                part.display()
            );
            io::Error::new(io::ErrorKind::AlreadyExists, message)
        })?;
        let part = self.part.insert(part);
        part.note(&self.head)
    }

    /// The time since the start, in nanoseconds.
    fn since_start(&self, at: Instant) -> u64 {
        u64::try_from(self.elapsed(at).as_nanos()).unwrap_or(u64::MAX)
    }

    /// The time since the start.
    #[must_use]
    pub fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.started)
    }

    /// Bytes so far, of all files.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Adds bytes that came at a time.
    ///
    /// # Errors
    /// When the disk is full, or gone. The bytes that fitted are in the file.
    pub fn write(&mut self, bytes: &[u8], at: Instant) -> io::Result<()> {
        match self.keep {
            Keep::All => self.append(bytes),
            Keep::Last(time, limit) => {
                self.written += bytes.len() as u64;
                self.last_bytes += bytes.len();
                match self.last.back_mut() {
                    Some((first, Kept::Bytes(kept)))
                        if kept.len() < KEPT_BYTES && at.saturating_duration_since(*first) < KEPT_TIME =>
                    {
                        kept.extend_from_slice(bytes);
                    }
                    _ => self.last.push_back((at, Kept::Bytes(bytes.to_vec()))),
                }
                self.forget(at, time, limit);
                Ok(())
            }
            Keep::Files(rotation, _) => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    let part = self.part()?;
                    let began = *part.began.get_or_insert(at);
                    let room = match rotation {
                        Rotation::Bytes(limit) => limit.saturating_sub(part.bytes),
                        Rotation::Time(time) if at.saturating_duration_since(began) >= time && part.bytes > 0 => 0,
                        Rotation::Time(_) => u64::MAX,
                    };
                    let fits = usize::try_from(room).unwrap_or(usize::MAX).min(rest.len());
                    if fits == 0 {
                        self.rotate(at)?;
                        continue;
                    }
                    let (now, later) = rest.split_at(fits);
                    self.append(now)?;
                    rest = later;
                }
                Ok(())
            }
        }
    }

    /// Adds bytes to the file of the moment, and counts those that are in it.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let part = self.part()?;
        let before = part.bytes;
        let result = part.write(bytes);
        let added = part.bytes - before;
        self.written += added;
        result
    }

    /// Removes bytes and notes older than `time`, and the oldest bytes beyond the limit.
    fn forget(&mut self, now: Instant, time: Duration, limit: usize) {
        while let Some((at, kept)) = self.last.front_mut() {
            let is_old = now.saturating_duration_since(*at) > time;
            let surplus = self.last_bytes.saturating_sub(limit);
            match kept {
                Kept::Bytes(bytes) if !is_old && bytes.len() > surplus => {
                    bytes.drain(..surplus);
                    self.last_bytes -= surplus;
                    return;
                }
                Kept::Line(_) if !is_old && surplus == 0 => return,
                Kept::Bytes(bytes) => self.last_bytes -= bytes.len(),
                Kept::Line(_) => {}
            }
            self.last.pop_front();
        }
    }

    fn part(&mut self) -> io::Result<&mut Part> {
        self.part.as_mut().ok_or_else(|| io::Error::other("the recording has ended"))
    }

    fn rotate(&mut self, at: Instant) -> io::Result<()> {
        let end = Line {
            note: sidecar::END.into(),
            at_ns: self.since_start(at),
            text: Some("continued in the next file".into()),
            ..Line::default()
        };
        if let Some(part) = self.part.take() {
            self.complete.push_back(part.finish(&end)?);
        }
        self.number += 1;
        let Keep::Files(_, limit) = self.keep else { return Ok(()) };
        // The one that is begun counts.
        while limit.is_some_and(|limit| self.complete.len() >= limit.max(1)) {
            let Some(oldest) = self.complete.pop_front() else { break };
            let _ = fs::remove_file(sidecar::beside(&oldest));
            let _ = fs::remove_file(oldest);
        }
        self.begin(&numbered(&self.target, self.number))
    }

    /// Adds a line to the notes; its place and time are filled in.
    ///
    /// # Errors
    /// When the disk is full, or gone.
    pub fn note(&mut self, line: Line, at: Instant) -> io::Result<()> {
        let line = Line { at_ns: self.since_start(at), ..line };
        if matches!(self.keep, Keep::Last(..)) {
            self.last.push_back((at, Kept::Line(line)));
            return Ok(());
        }
        let part = self.part()?;
        let offset = part.bytes;
        part.note(&Line { offset, ..line })
    }

    /// Removes what was begun, because nothing was recorded. The names of no files.
    pub fn discard(mut self) -> Vec<PathBuf> {
        if let Some(Part { path, notes: Some(_), .. }) = self.part.take() {
            // What cannot be removed has the name of a part all the same.
            let _ = fs::remove_file(sidecar::beside(&path));
            let _ = fs::remove_file(path);
        }
        Vec::new()
    }

    /// Ends the recording. The names of its files.
    ///
    /// # Errors
    /// When it cannot be written out; the bytes that could be written are in the file of the part.
    pub fn finish(mut self, reason: &str) -> io::Result<Vec<PathBuf>> {
        let at_ns = self.since_start(Instant::now());
        let end = Line { note: sidecar::END.into(), at_ns, text: Some(reason.into()), ..Line::default() };
        let Some(mut part) = self.part.take() else { return Ok(self.complete.into()) };
        let path = part.path.clone();
        let unfinished =
            |error: io::Error| io::Error::new(error.kind(), format!("{error}; the bytes so far are in {}", path.display()));
        for (_, kept) in self.last.drain(..) {
            match kept {
                Kept::Bytes(bytes) => part.write(&bytes).map_err(&unfinished)?,
                Kept::Line(line) => {
                    let offset = part.bytes;
                    part.note(&Line { offset, ..line }).map_err(&unfinished)?;
                }
            }
        }
        self.complete.push_back(part.finish(&end).map_err(&unfinished)?);
        Ok(self.complete.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn head() -> Line {
        Line { note: sidecar::START.into(), ..Line::default() }
    }

    fn reconnected() -> Line {
        Line { note: "reconnected".into(), ..Line::default() }
    }

    #[test]
    fn a_recording_gets_its_name_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("run.bin");
        let mut output = Output::create(&target, Keep::All, head(), false).unwrap();
        let at = Instant::now();
        output.write(b"abc", at).unwrap();
        output.note(reconnected(), at).unwrap();
        output.write(b"de", at).unwrap();
        assert_eq!(names(folder.path()), ["run.bin.part", "run.bin.part.traceconv.jsonl"]);
        assert_eq!(fs::read(folder.path().join("run.bin.part")).unwrap(), b"abcde");
        let second = Output::create(&target, Keep::All, head(), true).err().unwrap().to_string();
        assert!(second.contains("another recording is running"), "{second}");

        assert_eq!(output.finish("stopped").unwrap(), std::slice::from_ref(&target));
        assert_eq!(names(folder.path()), ["run.bin", "run.bin.traceconv.jsonl"]);
        let read = sidecar::read(&target, 5).unwrap();
        assert_eq!(read.notes.iter().map(|note| (note.kind.code, note.offset)).collect::<Vec<_>>(), [("reconnected", 3)]);
        assert!(read.hints.is_empty());

        let refused = Output::create(&target, Keep::All, head(), false).err().unwrap().to_string();
        assert!(refused.ends_with("run.bin is there already; --force replaces it"), "{refused}");
        assert_eq!(Output::create(&target, Keep::All, head(), true).unwrap().finish("").unwrap(), [target]);
    }

    #[test]
    fn files_of_a_size_are_a_ring() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("run.bin");
        let mut output = Output::create(&target, Keep::Files(Rotation::Bytes(4), Some(2)), head(), false).unwrap();
        let at = Instant::now();
        output.write(b"0123456", at).unwrap();
        output.note(reconnected(), at).unwrap();
        output.write(b"789abcdefgh", at).unwrap();
        assert_eq!(output.written(), 18);
        let files = output.finish("stopped").unwrap();
        let contents: Vec<_> = files.iter().map(|file| String::from_utf8(fs::read(file).unwrap()).unwrap()).collect();
        assert_eq!(contents, ["cdef", "gh"]);
        let left = ["run.003.bin", "run.003.bin.traceconv.jsonl", "run.004.bin", "run.004.bin.traceconv.jsonl"];
        assert_eq!(names(folder.path()), left);

        let by_time = Keep::Files(Rotation::Time(Duration::from_secs(1)), None);
        let refused = Output::create(&target, by_time, head(), false).err().unwrap().to_string();
        assert!(refused.ends_with("run.003.bin is there already; --force replaces it"), "{refused}");
        let mut output = Output::create(&target, by_time, head(), true).unwrap();
        let times = [0, 500, 1100, 1200].map(|ms| at + Duration::from_millis(ms) + Duration::from_secs(10));
        for at in times {
            output.write(b"x", at).unwrap();
        }
        assert_eq!(output.finish("stopped").unwrap().len(), 2);
        assert_eq!(numbered(Path::new("a/b"), 7), Path::new("a/b.007"));
    }

    #[test]
    fn the_last_time_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("run.bin");
        let mut output = Output::create(&target, Keep::Last(Duration::from_secs(2), 100), head(), false).unwrap();
        let at = Instant::now();
        for second in 0..6 {
            let at = at + Duration::from_secs(second);
            output.note(reconnected(), at).unwrap();
            output.write(format!("<{second}>").as_bytes(), at).unwrap();
        }
        output.finish("stopped").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"<3><4><5>");
        let offsets: Vec<u64> = sidecar::read(&target, 9).unwrap().notes.iter().map(|note| note.offset).collect();
        assert_eq!(offsets, [0, 3, 6]);

        let mut output = Output::create(&target, Keep::Last(Duration::from_secs(100), 7), head(), true).unwrap();
        (0..6).for_each(|second| output.write(format!("<{second}>").as_bytes(), at).unwrap());
        output.finish("stopped").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"><4><5>");

        // A piece that is longer than the limit is kept as far as it fits.
        let mut output = Output::create(&target, Keep::Last(Duration::from_secs(100), 4), head(), true).unwrap();
        output.note(reconnected(), at).unwrap();
        output.write(b"0123456789", at).unwrap();
        output.note(reconnected(), at).unwrap();
        output.finish("stopped").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"6789");
        assert_eq!(sidecar::read(&target, 4).unwrap().notes.iter().map(|note| note.offset).collect::<Vec<_>>(), [4]);
    }
}
