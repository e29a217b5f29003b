//! The tracks of a block: the default track of its events, and the track fields of the others.

use std::cmp::Reverse;

use super::wire::ShortField;
use crate::track::TrackId;

/// `TrackEvent.track_uuid`.
pub(super) const TRACK_UUID: u32 = 11;

/// Bounds the memory: tracks from here on are never the default, and their events take the general path. All tracks below have
/// short fields.
const MAX_TRACKS: usize = ShortField::END as usize;

/// Reusable memory for the tracks of one block.
#[derive(Default)]
pub(super) struct Tracks {
    /// The number of events of each track, counted in two places.
    uses: [Vec<u32>; 2],
    /// The track field of each track's events. Kept from block to block, except that of the default track.
    fields: Vec<ShortField>,
    default_track: Option<TrackId>,
}

impl Tracks {
    /// Starts with a block.
    pub(super) fn start(&mut self) {
        self.uses.iter_mut().for_each(|uses| uses.fill(0));
        if let Some(track) = self.default_track.take() {
            self.fields[track.0 as usize] = ShortField::new(TRACK_UUID, track.0);
        }
    }

    /// Counts an event on a track.
    #[inline]
    pub(super) fn count<const PLACE: usize>(&mut self, track: TrackId) {
        match self.uses[PLACE].get_mut(track.0 as usize) {
            Some(uses) => *uses += 1,
            None => self.count_new(track),
        }
    }

    #[cold]
    #[inline(never)]
    fn count_new(&mut self, TrackId(track): TrackId) {
        let index = track as usize;
        if index < MAX_TRACKS {
            self.uses.iter_mut().for_each(|uses| uses.resize(index + 1, 0));
            self.uses[0][index] = 1;
            self.fields.extend((self.fields.len() as u32..=track).map(|track| ShortField::new(TRACK_UUID, track)));
        }
    }

    /// Ends the counting: the track with most events (of several, the first) becomes the default.
    pub(super) fn choose_default(&mut self) {
        let [even, odd] = &self.uses;
        let most = (0..).zip(even.iter().zip(odd).map(|(even, odd)| even + odd)).min_by_key(|&(_, uses)| Reverse(uses));
        self.default_track = most.filter(|&(_, uses)| uses > 0).map(|(track, _)| TrackId(track));
        if let Some(track) = self.default_track {
            self.fields[track.0 as usize] = ShortField::EMPTY;
        }
    }

    /// The default track.
    pub(super) fn default_track(&self) -> Option<TrackId> {
        self.default_track
    }

    /// The track field of an event; too long for tracks beyond the bound.
    #[inline]
    pub(super) fn field(&self, track: TrackId) -> ShortField {
        self.fields.get(track.0 as usize).copied().unwrap_or(ShortField::TOO_LONG)
    }
}
