//! Dictionary files saved by `qspy`: sizes, version and names.
//!
//! Lines that begin with `-` are options of `qspy`; then come sections, each a title, the size of its keys, one row per name, and
//! `***`.

use super::layout::Sizes;
use super::names::Names;

/// The content of a dictionary file.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    /// Letters and sizes.
    pub sizes: Vec<(char, u8)>,
    /// The version of QP.
    pub version: Option<u16>,
    /// The names.
    pub names: Names,
}

/// How much of a wrong line is shown.
const SHOWN_CHARS: usize = 40;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    None,
    Objects,
    Functions,
    Records,
    Signals,
    /// Names that `qspy` 5.9 to 6.8 made up for queues and pools.
    MadeUp,
}

impl Dictionary {
    /// Reads a file, in the form of QP 8 or the one before.
    ///
    /// # Errors
    /// The line, counted from 1, and the error.
    pub fn parse(file: &[u8]) -> Result<Dictionary, String> {
        let text = String::from_utf8_lossy(file);
        let mut dictionary = Dictionary::default();
        let mut section = Section::None;
        let mut wants_size = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let fail = |error: &str| {
                let shown: String = line.chars().take(SHOWN_CHARS).collect();
                Err(format!("line {}: {error}: {shown:?}", number + 1))
            };
            let next = match line {
                "Obj-Dic:" => Some(Section::Objects),
                "Fun-Dic:" => Some(Section::Functions),
                "Usr-Dic:" => Some(Section::Records),
                "Sig-Dic:" => Some(Section::Signals),
                "Msc-Dic:" => Some(Section::MadeUp),
                "***" => Some(Section::None),
                _ => None,
            };
            if let Some(next) = next {
                (section, wants_size) = (next, next != Section::None);
            } else if section == Section::None {
                if !line.split_whitespace().all(|word| dictionary.option(word)) {
                    return fail("neither an option of qspy nor the title of a section");
                }
            } else if std::mem::take(&mut wants_size) {
                if line.parse::<u8>().is_err() {
                    return fail("expected the size of keys");
                }
            } else if dictionary.row(section, line).is_none() {
                return fail("expected a key and a name");
            }
        }
        Ok(dictionary)
    }

    /// Whether nothing is known from it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty() && self.version.is_none() && self.names.count() == 0
    }

    fn option(&mut self, line: &str) -> bool {
        let mut chars = line.chars();
        let (Some('-'), Some(letter)) = (chars.next(), chars.next()) else { return false };
        let value = chars.as_str();
        match letter {
            'v' => {
                self.version = parse_version(value);
                self.version.is_some()
            }
            letter if Sizes::LETTERS.contains(&letter) => {
                let size = value.parse::<u8>().ok().filter(|&size| size == 0 || Sizes::is_legal(letter, size));
                self.sizes.extend(size.filter(|&size| size != 0).map(|size| (letter, size)));
                size.is_some()
            }
            // Dates, the variant of QP, and other options.
            letter => letter.is_ascii_alphabetic(),
        }
    }

    fn row(&mut self, section: Section, line: &str) -> Option<()> {
        let (key, rest) = line.split_once(char::is_whitespace)?;
        let rest = rest.trim();
        let address = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
        match section {
            Section::Objects => self.names.add_object(address(key)?, rest),
            Section::Functions => self.names.add_function(address(key)?, rest),
            Section::Records => self.names.add_record(u8::try_from(address(key)?).ok()?, rest),
            Section::Signals => {
                let (object, name) = rest.split_once(char::is_whitespace)?;
                self.names.add_signal(key.parse().ok()?, address(object)?, name.trim());
            }
            Section::MadeUp => drop(address(key)?),
            Section::None => return None,
        }
        Some(())
    }
}

/// A version of QP: `812`, `8.1.2` or `8.1`.
#[must_use]
pub fn parse_version(text: &str) -> Option<u16> {
    if let Some((major, rest)) = text.split_once('.') {
        let (minor, patch) = rest.split_once('.').unwrap_or((rest, "0"));
        let digit = |text: &str| text.parse::<u16>().ok().filter(|&digit| digit < 10);
        return Some(digit(major)? * 100 + digit(minor)? * 10 + digit(patch)?);
    }
    text.parse().ok().filter(|version| (100..1000).contains(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_either_form() {
        let old = "-v694\n-T4\n-O4\n-F4\n-S2\n-E4\n-Q4\n-P4\n-B4\n-C4\n-t211020_120243\n\nObj-Dic:\n4\n0x0040B11B l_clock_tick\n***\n\
                   Fun-Dic:\n4\n***\nUsr-Dic:\n1\n0x00000064 PHILO_STAT\n***\nSig-Dic:\n4\n00000010 0x004124C0 HUNGRY_SIG\n***\n";
        let dictionary = Dictionary::parse(old.as_bytes()).unwrap();
        assert_eq!((dictionary.version, dictionary.sizes.len()), (Some(694), 9));
        assert_eq!(dictionary.names.object(0x40_B11B).as_deref(), Some("l_clock_tick"));
        assert_eq!(dictionary.names.record(100), Some("PHILO_STAT"));
        assert_eq!(dictionary.names.signal(10, 0x41_24C0), Some("HUNGRY_SIG"));
        let new = "# a comment\n-d260101 -v812 -q1\n-T4\n-Q0\nObj-Dic:\n4\n0x20000E08 Philo_inst[0]  # the first\n***\n";
        let dictionary = Dictionary::parse(new.as_bytes()).unwrap();
        assert_eq!((dictionary.version, dictionary.sizes.as_slice()), (Some(812), &[('T', 4)][..]));
        assert_eq!(dictionary.names.object(0x2000_0E08).as_deref(), Some("Philo_inst[0]"));
    }

    #[test]
    fn the_names_that_qspy_made_up_are_passed_over() {
        let file = "-v650\n-T4\nObj-Dic:\n4\n0x20000E08 l_philo\n***\nMsc-Dic:\n4\n0x20000E08 EQ.1\n***\n";
        let dictionary = Dictionary::parse(file.as_bytes()).unwrap();
        assert_eq!((dictionary.version, dictionary.names.object(0x2000_0E08).as_deref()), (Some(650), Some("l_philo")));
        assert!(Dictionary::parse(b"Msc-Dic:\n4\nEQ.1\n***\n").is_err());
    }

    #[test]
    fn errors_have_their_line() {
        let of = |text: &str| Dictionary::parse(text.as_bytes()).unwrap_err();
        assert!(of("-v812\nhello\n").starts_with("line 2: neither"));
        assert!(of("Obj-Dic:\n4\n0xZZ name\n").starts_with("line 3: expected a key"));
        assert!(of("Obj-Dic:\nfour\n").starts_with("line 2: expected the size"));
        assert!(of("-T3\n").starts_with("line 1"));
        assert!(of(&"x".repeat(10_000)).len() < 200);
    }

    #[test]
    fn versions_are_written_in_several_ways() {
        assert_eq!(parse_version("8.1.2"), Some(812));
        assert_eq!(parse_version("7.0"), Some(700));
        assert_eq!(parse_version("740"), Some(740));
        assert_eq!(parse_version("12"), None);
        assert_eq!(parse_version("8.x"), None);
    }
}
