//! Calls that are recorded after calls that ended later, because their exits were interrupted before their records were written.
//! They are rare, and therefore in a separate file.

use super::{Call, HELD_CALLS, Ink, Nest, Place, Row, tree_start};

impl Nest {
    /// Adds a call that ended before calls that are already known: the calls that interrupted its exit may be recorded before it.
    /// If all calls that ended after it also began after it, the call is inserted before them.
    #[cold]
    pub(super) fn add_late(&mut self, call: Call, ink: &mut Ink<'_>) -> Option<i64> {
        let first = self.roots.partition_point(|&root| self.calls[root as usize].end_ns <= call.end_ns);
        let start = self.roots.get(first).map(|&root| tree_start(&self.calls, root as usize))?;
        let stays = self.rows.partition_point(|row| (row.first_root as usize) < first);
        let is_behind = self.calls[self.roots[first] as usize].begin_ns >= call.end_ns && stays >= self.written.len();
        let end_ns = stays.checked_sub(1).map_or(0, |row| self.row_end(row, first));
        if !is_behind || end_ns > call.end_ns {
            return None;
        }
        self.is_plain = false;
        // Later trees are removed and added again after it, as if they had been recorded after it.
        let all_end_ns = std::mem::replace(&mut self.end_ns, end_ns);
        let calls = self.calls.split_off(start);
        let row_of = |root: usize| self.rows.iter().rfind(|row| row.first_root as usize <= root).copied();
        let later: Vec<(usize, Option<Row>)> =
            (first..self.roots.len()).map(|root| (self.roots[root] as usize + 1 - start, row_of(root))).collect();
        self.roots.truncate(first);
        self.rows.truncate(stays);
        if let Some(row) = self.rows.last_mut() {
            row.end_ns = end_ns;
        }
        let mut orphans = self.raise_last_row(&call);
        let added = self.add(&call, ink);
        let mut tree = 0;
        for (end, row) in later {
            if let (Some(calls), Some(row)) = (calls.get(tree..end), row) {
                orphans += self.append_tree(calls, row, ink);
            }
            tree = end;
        }
        self.end_ns = all_end_ns;
        self.is_plain = false;
        if self.calls.len() >= HELD_CALLS {
            self.write_oldest(HELD_CALLS / 2, ink);
        }
        // A call without a place has changed nothing.
        added.map(|added| added + orphans)
    }

    /// Roots of the last row that lie within a call may be its children. If their depth was lowered because of a removed call,
    /// that is undone. Returns the change of the number of orphans, which is never above 0.
    fn raise_last_row(&mut self, call: &Call) -> i64 {
        let Some(row) = self.rows.last().copied().filter(|row| row.is_marked && row.depth <= call.depth) else { return 0 };
        let first = self.first_within(&row, self.roots.len(), call.begin_ns);
        let number = self.rows.len() - 1;
        let end_ns = self.row_end(number, first);
        if first == row.first_root as usize && number >= self.written.len() {
            self.rows.pop();
        } else if let Some(row) = self.rows.last_mut() {
            row.end_ns = end_ns;
        }
        let (mut depth, mut orphans) = (i16::MAX, 0);
        let mut raised: Vec<Row> = Vec::new();
        for index in (first..self.roots.len()).rev() {
            let root = &mut self.calls[self.roots[index] as usize];
            depth = depth.min(root.depth);
            // A remaining root after it may be less deep.
            let is_orphan = root.depth > depth;
            orphans += i64::from(is_orphan) - i64::from(std::mem::replace(&mut root.is_orphan, is_orphan));
            match raised.last_mut() {
                Some(row) if row.depth == depth && row.is_marked == is_orphan => {
                    (row.begin_ns, row.first_root) = (root.begin_ns, index as u32);
                    row.height = row.height.max(root.height);
                }
                _ => raised.push(Row { depth, is_marked: is_orphan, ..Row::of(root, root.height, index) }),
            }
        }
        self.rows.extend(raised.into_iter().rev());
        orphans
    }

    /// Adds a tree that was a root of such a row after all others.
    fn append_tree(&mut self, tree: &[Call], row: Row, ink: &mut Ink<'_>) -> i64 {
        let Some(root) = tree.last() else { return 0 };
        let mut place = Place { rows: self.rows.len(), roots: self.roots.len() };
        let is_lower = self.rows.last().is_some_and(|last| last.depth > row.depth);
        let orphans = if is_lower { self.lower_rows(row.depth, &mut place, ink) } else { 0 };
        self.calls.extend_from_slice(tree);
        match self.rows.last_mut() {
            Some(last) if last.depth == row.depth && last.is_marked == row.is_marked => last.extend(root.end_ns, root.height),
            _ => {
                let Row { depth, is_marked, .. } = row;
                self.rows.push(Row { depth, is_marked, ..Row::of(root, root.height, place.roots) });
            }
        }
        self.roots.push((self.calls.len() - 1) as u32);
        orphans
    }
}
