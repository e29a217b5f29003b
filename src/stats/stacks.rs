//! Stacks and the time spent in each: the folded form that flame graph tools read.

use std::fmt::Write as _;

/// "None" among the links of nodes.
const NONE: u32 = u32::MAX;

/// How many different stacks are kept. The time of further ones counts for the frame below them.
const NODE_LIMIT: usize = 1 << 20;

/// How many different frames may follow one frame. The time of further ones counts for that frame.
const CHILD_LIMIT: usize = 256;

/// An entry of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Nothing: the bottom of all stacks.
    Root,
    /// A core.
    Core(u16),
    /// A task.
    Task(u32),
    /// An interrupt.
    Isr(u32),
    /// A function.
    Function(u32),
}

#[derive(Clone, Copy)]
struct Node {
    frame: Frame,
    first_child: u32,
    next: u32,
    own_ns: u64,
}

/// A node of the stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeId(u32);

/// Trees of frames with the time spent in each, apart from those above it. One tree is the whole; others are on their way to
/// it.
pub struct Stacks {
    nodes: Vec<Node>,
    free: Vec<u32>,
    work: Vec<(u32, u32)>,
}

impl Default for Stacks {
    fn default() -> Stacks {
        let root = Node { frame: Frame::Root, first_child: NONE, next: NONE, own_ns: 0 };
        Stacks { nodes: vec![root], free: Vec::new(), work: Vec::new() }
    }
}

impl Stacks {
    /// The whole.
    pub const ROOT: NodeId = NodeId(0);

    /// A tree of one frame. At the limit: none.
    pub fn add(&mut self, frame: Frame, own_ns: u64) -> Option<NodeId> {
        let node = Node { frame, first_child: NONE, next: NONE, own_ns };
        if let Some(free) = self.free.pop() {
            self.nodes[free as usize] = node;
            return Some(NodeId(free));
        }
        if self.nodes.len() >= NODE_LIMIT {
            return None;
        }
        self.nodes.push(node);
        Some(NodeId((self.nodes.len() - 1) as u32))
    }

    /// Whether a tree has no frame of its own.
    pub fn is_root(&self, tree: NodeId) -> bool {
        self.nodes[tree.0 as usize].frame == Frame::Root
    }

    /// Adds time to the stack of these frames above the root.
    pub fn spend(&mut self, frames: impl Iterator<Item = Frame>, own_ns: u64) {
        let mut at = 0;
        for frame in frames {
            let (child, count) = self.child(at, frame);
            at = match child {
                Some(child) => child,
                None if count >= CHILD_LIMIT => break,
                None => match self.add(frame, 0) {
                    Some(NodeId(new)) => {
                        self.link(at, new);
                        new
                    }
                    None => break,
                },
            };
        }
        self.nodes[at as usize].own_ns += own_ns;
    }

    /// Puts a tree above a frame. Its parts join those of the same frames.
    pub fn put(&mut self, above: NodeId, tree: NodeId) {
        self.work.push((above.0, tree.0));
        while let Some((above, tree)) = self.work.pop() {
            let frame = self.nodes[tree as usize].frame;
            // A root is nothing by itself: its children take its place.
            let joins = if frame == Frame::Root { (Some(above), 0) } else { self.child(above, frame) };
            match joins {
                (Some(same), _) => self.join(same, tree),
                (None, count) if count >= CHILD_LIMIT => self.join(above, tree),
                (None, _) => self.link(above, tree),
            }
        }
    }

    /// Adds a tree's time and its children to another one.
    fn join(&mut self, same: u32, tree: u32) {
        let Node { own_ns, first_child, .. } = self.nodes[tree as usize];
        self.nodes[same as usize].own_ns += own_ns;
        let mut child = first_child;
        while child != NONE {
            self.work.push((same, child));
            child = self.nodes[child as usize].next;
        }
        self.free.push(tree);
    }

    fn link(&mut self, above: u32, tree: u32) {
        self.nodes[tree as usize].next = self.nodes[above as usize].first_child;
        self.nodes[above as usize].first_child = tree;
    }

    /// The child of a frame, if there is one, else how many others there are.
    fn child(&self, above: u32, frame: Frame) -> (Option<u32>, usize) {
        let mut count = 0;
        let mut child = self.nodes[above as usize].first_child;
        while child != NONE {
            let node = &self.nodes[child as usize];
            if node.frame == frame {
                return (Some(child), count);
            }
            count += 1;
            child = node.next;
        }
        (None, count)
    }

    /// The whole as lines `bottom;…;top nanoseconds`, in the order of the text. Frames without a name, and stacks without time
    /// of their own, are left out.
    pub fn folded(&self, name: impl Fn(Frame) -> Option<String>) -> String {
        let mut lines = Vec::new();
        let mut path = String::new();
        // Nodes to visit, with the length of the path below them.
        let mut open = vec![(0, 0)];
        while let Some((node, below)) = open.pop() {
            path.truncate(below);
            let Node { frame, first_child, own_ns, .. } = self.nodes[node as usize];
            if let Some(name) = name(frame) {
                if !path.is_empty() {
                    path.push(';');
                }
                // A semicolon or a line break in a name would be taken for the end of a frame.
                path.extend(name.chars().map(|letter| if letter == ';' || letter.is_control() { '_' } else { letter }));
            }
            if own_ns > 0 && !path.is_empty() {
                lines.push(format!("{path} {own_ns}"));
            }
            let mut child = first_child;
            while child != NONE {
                open.push((child, path.len()));
                child = self.nodes[child as usize].next;
            }
        }
        lines.sort_unstable();
        lines.iter().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(frame: Frame) -> Option<String> {
        match frame {
            Frame::Root => None,
            Frame::Function(number) => Some(format!("f{number};")),
            other => Some(format!("{other:?}")),
        }
    }

    #[test]
    fn equal_stacks_join() {
        let mut stacks = Stacks::default();
        for own in [5, 7] {
            // 1 calls 2, which calls 3; and 1 calls 3.
            let [one, two, three, other] =
                [(1, own), (2, 10), (3, 100), (3, 1000)].map(|(number, own)| stacks.add(Frame::Function(number), own).unwrap());
            stacks.put(two, three);
            stacks.put(one, two);
            stacks.put(one, other);
            stacks.put(Stacks::ROOT, one);
        }
        stacks.spend([Frame::Core(0), Frame::Task(4)].into_iter(), 9);
        stacks.spend([Frame::Core(0), Frame::Task(4)].into_iter(), 1);
        let expected = "Core(0);Task(4) 10\nf1_ 12\nf1_;f2_ 20\nf1_;f2_;f3_ 200\nf1_;f3_ 2000\n";
        assert_eq!(stacks.folded(names), expected);
        // Joined buffers are used again.
        let nodes = stacks.nodes.len();
        let again = stacks.add(Frame::Function(1), 1).unwrap();
        stacks.put(Stacks::ROOT, again);
        assert_eq!(stacks.nodes.len(), nodes);
    }

    #[test]
    fn too_many_frames_count_for_the_one_below() {
        let mut stacks = Stacks::default();
        for number in 0..CHILD_LIMIT as u32 + 10 {
            stacks.spend([Frame::Core(0), Frame::Task(number)].into_iter(), 1);
        }
        for number in 0..CHILD_LIMIT as u32 + 10 {
            let caller = stacks.add(Frame::Function(1), 0).unwrap();
            let called = stacks.add(Frame::Function(1000 + number), 1).unwrap();
            stacks.put(caller, called);
            stacks.put(Stacks::ROOT, caller);
        }
        let folded = stacks.folded(names);
        assert!(folded.starts_with("Core(0) 10\nCore(0);Task(0) 1\n"));
        assert!(folded.contains("\nf1_ 10\n"), "{folded}");
        assert_eq!(
            folded.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum::<usize>(),
            2 * (CHILD_LIMIT + 10)
        );
    }
}
