//! Rust source text → code without comments → the paths, macros and texts in it.
//!
//! Not a parser: tokens are enough to see the names. Paths are made absolute (`super::…` from the place of the file and of the
//! inline modules around it, `{…}` multiplied out), so that a forbidden name is found however it is written.

/// A token of Rust with the number of its line, counted from 1.
#[derive(Clone, Debug, PartialEq)]
struct Token {
    line: usize,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Word(String),
    /// The content of a string literal.
    Text(String),
    /// `::`
    Path,
    Sign(char),
}

/// A path in the code, absolute if it can be.
#[derive(Debug, PartialEq)]
pub struct NamedPath {
    pub line: usize,
    pub names: Vec<String>,
}

/// A source file.
pub struct Source {
    /// Its module: of `src/a/b.rs`, `["a", "b"]`. Empty outside of `src`.
    module: Option<Vec<String>>,
    tokens: Vec<Token>,
    /// For each line, whether it has code, and its comments.
    lines: Vec<(bool, String)>,
}

impl Source {
    pub fn parse(file: &str, text: &str) -> Source {
        let module = file.strip_prefix("src/").map(|path| {
            let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
            path.split('/').map(str::to_owned).collect()
        });
        let (tokens, comments) = tokens(text);
        let mut lines = vec![(false, String::new()); text.lines().count() + 1];
        for token in &tokens {
            lines[token.line - 1].0 = true;
        }
        for (line, comment) in comments {
            lines[line - 1].1.push_str(&comment);
        }
        Source { module, tokens, lines }
    }

    /// The part of the library that the file belongs to; `lib` and `main` for these.
    pub fn part(&self) -> Option<&str> {
        self.module.as_ref()?.first().map(String::as_str)
    }

    /// The input format that the file belongs to.
    pub fn format(&self) -> Option<&str> {
        let module = self.module.as_ref().filter(|module| module[0] == "format")?;
        module.get(1).map(String::as_str)
    }

    /// The macros that are called: lines and names.
    pub fn macros(&self) -> Vec<(usize, String)> {
        let pairs = self.tokens.windows(2).filter(|pair| pair[1].kind == Kind::Sign('!'));
        pairs.filter_map(|pair| Some((pair[0].line, word(&pair[0])?.to_owned()))).collect()
    }

    /// All words of the code, and all string literals.
    pub fn words_and_texts(&self) -> Vec<(usize, String)> {
        let named = self.tokens.iter().filter_map(|token| match &token.kind {
            Kind::Word(text) | Kind::Text(text) => Some((token.line, text.clone())),
            _ => None,
        });
        named.collect()
    }

    /// All comments and string literals, with their lines, in order.
    pub fn prose(&self) -> Vec<(usize, &str)> {
        let comments = (1..).zip(&self.lines).map(|(line, (_, comment))| (line, comment.as_str()));
        let texts = self.tokens.iter().filter_map(|token| match &token.kind {
            Kind::Text(text) => Some((token.line, text.as_str())),
            _ => None,
        });
        let mut all: Vec<(usize, &str)> = comments.filter(|(_, comment)| !comment.is_empty()).chain(texts).collect();
        all.sort_by_key(|&(line, _)| line);
        all
    }

    /// The lines with `unsafe` whose statement has no `SAFETY:` comment, beside it or right above it.
    pub fn unproven_unsafe(&self) -> Vec<usize> {
        let is_proven = |line: usize| {
            let (_, beside) = &self.lines[line - 1];
            // The comment may be several lines long, and the statement may begin some lines above.
            let above = self.lines[..line - 1].iter().rev().take_while(|(code, comment)| *code || !comment.is_empty()).take(8);
            std::iter::once(beside).chain(above.map(|(_, comment)| comment)).any(|comment| comment.contains("SAFETY:"))
        };
        let keywords = self.tokens.iter().filter(|token| word(token) == Some("unsafe"));
        keywords.map(|token| token.line).filter(|&line| !is_proven(line)).collect()
    }

    /// All paths of two or more names, and those of one name that are imported.
    pub fn paths(&self) -> Vec<NamedPath> {
        let mut paths = Vec::new();
        // The inline modules around: their depth in braces. Their names do not matter: only `super` leaves them.
        let mut inline: Vec<usize> = Vec::new();
        let mut depth = 0;
        let mut at = 0;
        while let Some(token) = self.tokens.get(at) {
            let before = at.checked_sub(1).and_then(|before| self.tokens.get(before));
            match &token.kind {
                Kind::Sign('{') if !self.is_import(at) => {
                    depth += 1;
                    let opens_module = at >= 2 && word(&self.tokens[at - 2]) == Some("mod");
                    if opens_module {
                        inline.push(depth);
                    }
                    at += 1;
                }
                Kind::Sign('}') => {
                    if inline.last() == Some(&depth) {
                        inline.pop();
                    }
                    depth = depth.saturating_sub(1);
                    at += 1;
                }
                _ => {
                    let imports = before.and_then(word) == Some("use");
                    let mut found = Vec::new();
                    let end = self.tree(at, &[], &mut found);
                    for (line, names) in found {
                        if names.len() > 1 || imports {
                            paths.push(NamedPath { line, names: self.absolute(names, inline.len()) });
                        }
                    }
                    at = end.max(at + 1);
                }
            }
        }
        paths
    }

    /// Reads a path, or a tree of them, that begins at token `at`, and returns the index of the token after it.
    fn tree(&self, mut at: usize, parents: &[String], found: &mut Vec<(usize, Vec<String>)>) -> usize {
        let mut names = parents.to_vec();
        let mut line = self.tokens.get(at).map_or(0, |token| token.line);
        if self.tokens.get(at).is_some_and(|token| token.kind == Kind::Path) {
            at += 1;
        }
        while let Some(token) = self.tokens.get(at) {
            match &token.kind {
                Kind::Word(name) => {
                    line = token.line;
                    names.push(name.clone());
                    at += 1;
                }
                Kind::Sign('{') if is_after(&self.tokens, at, &Kind::Path) || self.is_import(at) => {
                    at += 1;
                    while let Some(token) = self.tokens.get(at).filter(|token| token.kind != Kind::Sign('}')) {
                        let begins = matches!(token.kind, Kind::Word(_) | Kind::Path | Kind::Sign('{'));
                        at = if begins { self.tree(at, &names, found).max(at + 1) } else { at + 1 };
                    }
                    return at + 1;
                }
                _ => break,
            }
            if self.tokens.get(at).is_none_or(|token| token.kind != Kind::Path) {
                break;
            }
            at += 1;
        }
        if names.len() > parents.len() {
            found.push((line, names));
        }
        at
    }

    fn is_import(&self, at: usize) -> bool {
        at.checked_sub(1).is_some_and(|before| word(&self.tokens[before]) == Some("use"))
    }

    /// A path from the root of the crate, if it leads into it.
    fn absolute(&self, names: Vec<String>, inline: usize) -> Vec<String> {
        let Some(module) = &self.module else { return names };
        let root = |rest: &[String]| std::iter::once("crate".to_owned()).chain(rest.iter().cloned()).collect();
        match names[0].as_str() {
            "traceconv" => root(&names[1..]),
            "super" => {
                let ups = names.iter().take_while(|name| *name == "super").count();
                let kept = (module.len() + inline).saturating_sub(ups);
                let mut absolute = module[..kept.min(module.len())].to_vec();
                if kept <= module.len() {
                    absolute.extend_from_slice(&names[ups..]);
                }
                root(&absolute)
            }
            _ => names,
        }
    }
}

fn word(token: &Token) -> Option<&str> {
    match &token.kind {
        Kind::Word(word) => Some(word),
        _ => None,
    }
}

fn is_after(tokens: &[Token], at: usize, kind: &Kind) -> bool {
    at.checked_sub(1).is_some_and(|before| tokens[before].kind == *kind)
}

/// Splits a text into tokens and comments (with their lines).
fn tokens(text: &str) -> (Vec<Token>, Vec<(usize, String)>) {
    let chars: Vec<char> = text.chars().collect();
    let (mut tokens, mut comments) = (Vec::new(), Vec::new());
    let (mut at, mut line) = (0, 1);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied().unwrap_or('\0');
        let start = at;
        let first_line = line;
        let mut push = |kind| tokens.push(Token { line: first_line, kind });
        match c {
            '\n' => at += 1,
            _ if c.is_whitespace() => at += 1,
            '/' if next == '/' => at = find(&chars, at, '\n'),
            '/' if next == '*' => at = block_comment_end(&chars, at),
            ':' if next == ':' => {
                push(Kind::Path);
                at += 2;
            }
            '"' => {
                at = string_end(&chars, at + 1);
                push(Kind::Text(chars[start + 1..at].iter().collect()));
            }
            'r' | 'b' | 'c' if let Some((open, hashes)) = raw_string(&chars, at) => {
                at = raw_string_end(&chars, open, hashes);
                push(Kind::Text(chars[open..at].iter().collect()));
            }
            '\'' => at = char_or_lifetime_end(&chars, at),
            _ if is_word(c) => {
                at += chars[at..].iter().take_while(|&&c| is_word(c)).count();
                push(Kind::Word(chars[start..at].iter().collect()));
            }
            _ => {
                push(Kind::Sign(c));
                at += 1;
            }
        }
        if c == '/' && (next == '/' || next == '*') {
            let comment: String = chars[start..at].iter().collect();
            comments.extend(comment.lines().enumerate().map(|(index, text)| (first_line + index, text.to_owned())));
        }
        line += chars[start..at].iter().filter(|&&c| c == '\n').count();
    }
    (tokens, comments)
}

fn find(chars: &[char], from: usize, wanted: char) -> usize {
    chars[from..].iter().position(|&c| c == wanted).map_or(chars.len(), |index| from + index)
}

/// Block comments nest.
fn block_comment_end(chars: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at < chars.len() {
        match chars[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The index after the quote that ends a string whose content begins at `at`.
fn string_end(chars: &[char], mut at: usize) -> usize {
    while let Some(&c) = chars.get(at) {
        match c {
            '"' => return at + 1,
            '\\' => at += 2,
            _ => at += 1,
        }
    }
    chars.len()
}

/// If a raw string begins at `at` (`r"`, `br#"` …): the start of its content, and the number of its hashes.
fn raw_string(chars: &[char], at: usize) -> Option<(usize, usize)> {
    let prefix = usize::from(chars[at] != 'r');
    let rest = chars.get(at + prefix + 1..).filter(|_| chars.get(at + prefix) == Some(&'r'))?;
    let hashes = rest.iter().take_while(|&&c| c == '#').count();
    (rest.get(hashes) == Some(&'"')).then_some((at + prefix + 1 + hashes + 1, hashes))
}

fn raw_string_end(chars: &[char], open: usize, hashes: usize) -> usize {
    let is_end = |at: &usize| chars[*at] == '"' && chars[at + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes;
    (open..chars.len()).find(is_end).map_or(chars.len(), |end| end + 1 + hashes)
}

/// `'a'`, `'\n'`, `'static`.
fn char_or_lifetime_end(chars: &[char], at: usize) -> usize {
    match chars[at + 1..] {
        ['\\', _, ..] => find(chars, at + 3, '\'') + 1,
        [_, '\'', ..] => at + 3,
        _ => at + 1,
    }
    .min(chars.len())
}

#[test]
fn comments_and_literals_are_told_from_code() {
    let text = "a /* b /* c */ */ d // e\n\"f\\\" g\" r#\"h \" i\"# b'\"' 'j' '\\'' &'k l::m";
    let (tokens, comments) = tokens(text);
    let words: Vec<&str> = tokens.iter().filter_map(word).collect();
    assert_eq!(words, ["a", "d", "b", "k", "l", "m"]);
    let texts = tokens.iter().filter(|token| matches!(token.kind, Kind::Text(_))).count();
    assert_eq!((texts, tokens.last().unwrap().line), (2, 2));
    assert_eq!(comments, [(1, "/* b /* c */ */".to_owned()), (1, "// e".to_owned())]);
}

#[test]
fn paths_are_multiplied_out_and_made_absolute() {
    let paths =
        |file, text| -> Vec<String> { Source::parse(file, text).paths().into_iter().map(|path| path.names.join("::")).collect() };
    assert_eq!(paths("src/a/b.rs", "use x::{y, z::{self, w}};"), ["x::y", "x::z::self", "x::z::w"]);
    assert_eq!(paths("src/a/b.rs", "use {x, y::z};"), ["x", "y::z"]);
    assert_eq!(paths("src/a/b.rs", "use super::c; fn f() { super::super::d::e() }"), ["crate::a::c", "crate::d::e"]);
    assert_eq!(paths("src/a/mod.rs", "mod t { use super::super::d; } use super::e;"), ["crate::d", "crate::e"]);
    assert_eq!(paths("src/a/mod.rs", "fn f() -> ::x::Y { if a { b } }"), ["x::Y"]);
}
