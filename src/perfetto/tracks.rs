//! The tracks of a block: which one its events are on unless they say otherwise.

use std::cmp::Reverse;

use super::wire::ShortField;
use crate::timeline::TrackId;

/// `TrackEvent.track_uuid`.
pub(super) const TRACK_UUID: u32 = 11;

/// Bounds the memory: tracks from here on never are the default, and their events take the general path.
const MAX_TRACKS: usize = 1 << 16;

/// Reusable memory for the tracks of one block.
#[derive(Default)]
pub(super) struct Tracks {
    /// How many events each track has.
    uses: Vec<u32>,
    /// The track field of each track's events.
    fields: Vec<ShortField>,
    default_track: Option<TrackId>,
}

impl Tracks {
    /// Starts with a block.
    pub(super) fn start(&mut self) {
        self.uses.clear();
        self.default_track = None;
    }

    /// Counts an event on a track.
    #[inline]
    pub(super) fn count(&mut self, track: TrackId) {
        let index = track.0 as usize;
        if index >= self.uses.len() {
            if index >= MAX_TRACKS {
                return;
            }
            self.uses.resize(index + 1, 0);
        }
        self.uses[index] += 1;
    }

    /// Ends the counting: the track with most events (of several, the first) becomes the default.
    pub(super) fn choose_default(&mut self) {
        let most = (0..).zip(&self.uses).min_by_key(|&(_, uses)| Reverse(uses));
        self.default_track = most.filter(|&(_, &uses)| uses > 0).map(|(track, _)| TrackId(track));
        let default_track = self.default_track;
        self.fields.clear();
        self.fields.extend((0..).zip(&self.uses).map(|(track, _)| match default_track {
            Some(TrackId(default)) if track == default => ShortField::EMPTY,
            _ => ShortField::new(TRACK_UUID, track),
        }));
    }

    /// The default track.
    pub(super) fn default_track(&self) -> Option<TrackId> {
        self.default_track
    }

    /// The track field of an event; too long for tracks that were not counted.
    #[inline]
    pub(super) fn field(&self, track: TrackId) -> ShortField {
        self.fields.get(track.0 as usize).copied().unwrap_or(ShortField::TOO_LONG)
    }
}
