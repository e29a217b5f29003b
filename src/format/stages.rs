//! The stages of a format: the typed ones that a format implements, and the erased ones that the pipeline calls.
//!
//! A format implements [`Recording`], [`Decode`] and [`Resolve`] with types of its own for facts and records. [`erase`] wraps a
//! recording, so that the pipeline can work with any format without knowing these types. The wrapper in this file makes every
//! [`Parcel`] and is the only one that opens it, so a parcel always holds the expected type.

use std::any::Any;

use super::{Facts, ListRecord, Part, Resolved};
use crate::model::{CoreId, Ledger};

/// A recording of one format that is being read: the first pass.
pub trait Recording: Send + Sync + Sized + 'static {
    /// Metadata of one part.
    type PartFacts: Send + 'static;
    /// Metadata of the parts of one input up to a place: all of it at the end.
    type Facts: Default + Send + 'static;
    /// The parallel stage of the second pass.
    type Decoder: Decode;
    /// The ordered stage of the second pass.
    type Resolver: Resolve<Records = <Self::Decoder as Decode>::Records>;

    /// The first safe cut at or after `at`. See [`crate::frame`] for the contract.
    fn cut(&self, input: &[u8], at: usize) -> usize;

    /// Collects the metadata of one part. Pure; may run on any thread.
    fn scan(&self, input: usize, part: Part<'_>) -> Self::PartFacts;

    /// Adds the metadata of the next part of an input to that of the parts before it. `bytes` is the whole input.
    fn join(&self, bytes: &[u8], facts: &mut Self::Facts, next: Self::PartFacts);

    /// Takes the metadata of each input (the default for an empty one) and makes the stages of the second pass. There is one
    /// ledger for each input.
    fn finish(self, facts: Vec<Self::Facts>, ledgers: &mut [Ledger]) -> Stages<Self::Decoder, Self::Resolver>;
}

/// The parallel stage of the second pass: bytes to records.
pub trait Decode: Send + Sync + 'static {
    /// The records of one part.
    type Records: Default + Send + 'static;

    /// Decodes one part. Pure: the same part gives the same records, regardless of earlier calls. `records` may hold the records of
    /// another part, which are discarded: only their memory is reused.
    fn decode(&self, input: usize, part: Part<'_>, records: &mut Self::Records);
}

/// The ordered stage of the second pass: records to events.
pub trait Resolve: Send + 'static {
    /// The records of one part.
    type Records: Default + Send + 'static;

    /// Turns the records of the next part of an input (its parts come in file order) into events, appended to `out.batch`.
    /// Events may be held back until more is known; they then follow with a later part or with [`Resolve::finish`]. What is left in
    /// `records` is discarded, and its memory reused. `bytes` is the whole input.
    fn resolve(&mut self, input: usize, bytes: &[u8], records: &mut Self::Records, out: &mut Resolved<'_>);

    /// An input has no more parts: appends the events that were held back. `bytes` is the whole input.
    fn finish(&mut self, input: usize, bytes: &[u8], out: &mut Resolved<'_>);

    /// Lists the records of the next part of an input, in file order, without making events of them. The ledger is kept as for
    /// [`Resolve::resolve`], as far as bytes and frames go.
    fn dump(&mut self, input: usize, bytes: &[u8], records: &mut Self::Records, ledger: &mut Ledger, out: &mut ListRecord<'_>);

    /// Facts about the recording, after all of it has been read.
    fn facts(&self) -> Facts;
}

/// The stages of the second pass.
pub struct Stages<D, R> {
    /// The cores that may have events, of each input.
    pub cores: Vec<Vec<CoreId>>,
    /// Makes records of bytes.
    pub decode: D,
    /// Makes events of records.
    pub resolve: R,
}

/// The result of one stage for the next one, with its type erased.
pub struct Parcel(Box<dyn Any + Send>);

impl Parcel {
    fn pack<T: Send + 'static>(content: Box<T>) -> Parcel {
        Parcel(content)
    }

    fn unpack<T: 'static>(self) -> Box<T> {
        // Parcels are made in this file only, and each goes back to the adapter that made it.
        self.0.downcast().unwrap_or_else(|_| unreachable!("a parcel of another recording"))
    }
}

/// [`Recording`], with the types erased.
pub trait ErasedRecording: Send + Sync {
    /// See [`Recording::cut`].
    fn cut(&self, input: &[u8], at: usize) -> usize;

    /// See [`Recording::scan`].
    fn scan(&self, input: usize, part: Part<'_>) -> Parcel;

    /// See [`Recording::join`]. `None` before the first part.
    fn join(&self, bytes: &[u8], facts: Option<Parcel>, next: Parcel) -> Parcel;

    /// See [`Recording::finish`]. `None` for an empty input.
    fn finish(self: Box<Self>, facts: Vec<Option<Parcel>>, ledgers: &mut [Ledger]) -> ErasedStages;
}

/// [`Stages`], with the types erased.
pub type ErasedStages = Stages<Box<dyn ErasedDecode>, Box<dyn ErasedResolve>>;

/// [`Decode`], with the types erased.
pub trait ErasedDecode: Send + Sync {
    /// See [`Decode::decode`]. `spare` is a used parcel of records.
    fn decode(&self, input: usize, part: Part<'_>, spare: Option<Parcel>) -> Parcel;
}

/// [`Resolve`], with the types erased.
pub trait ErasedResolve: Send {
    /// See [`Resolve::resolve`]. Gives the parcel back for its memory.
    fn resolve(&mut self, input: usize, bytes: &[u8], records: Parcel, out: &mut Resolved<'_>) -> Parcel;

    /// See [`Resolve::finish`].
    fn finish(&mut self, input: usize, bytes: &[u8], out: &mut Resolved<'_>);

    /// See [`Resolve::dump`].
    fn dump(&mut self, input: usize, bytes: &[u8], records: Parcel, ledger: &mut Ledger, out: &mut ListRecord<'_>);

    /// See [`Resolve::facts`].
    fn facts(&self) -> Facts;
}

/// Erases the types of a recording.
pub fn erase<R: Recording>(recording: R) -> Box<dyn ErasedRecording> {
    Box::new(Adapter(recording))
}

/// A recording or one of its stages, whose types are erased.
struct Adapter<T>(T);

impl<R: Recording> ErasedRecording for Adapter<R> {
    fn cut(&self, input: &[u8], at: usize) -> usize {
        self.0.cut(input, at)
    }

    fn scan(&self, input: usize, part: Part<'_>) -> Parcel {
        Parcel::pack(Box::new(self.0.scan(input, part)))
    }

    fn join(&self, bytes: &[u8], facts: Option<Parcel>, next: Parcel) -> Parcel {
        let mut facts: Box<R::Facts> = facts.map(Parcel::unpack).unwrap_or_default();
        self.0.join(bytes, &mut facts, *next.unpack());
        Parcel::pack(facts)
    }

    fn finish(self: Box<Self>, facts: Vec<Option<Parcel>>, ledgers: &mut [Ledger]) -> ErasedStages {
        let facts = facts.into_iter().map(|facts| facts.map(|facts| *facts.unpack()).unwrap_or_default()).collect();
        let Stages { cores, decode, resolve } = self.0.finish(facts, ledgers);
        Stages { cores, decode: Box::new(Adapter(decode)), resolve: Box::new(Adapter(resolve)) }
    }
}

impl<D: Decode> ErasedDecode for Adapter<D> {
    fn decode(&self, input: usize, part: Part<'_>, spare: Option<Parcel>) -> Parcel {
        let mut records: Box<D::Records> = spare.map(Parcel::unpack).unwrap_or_default();
        self.0.decode(input, part, &mut records);
        Parcel::pack(records)
    }
}

impl<R: Resolve> ErasedResolve for Adapter<R> {
    fn resolve(&mut self, input: usize, bytes: &[u8], records: Parcel, out: &mut Resolved<'_>) -> Parcel {
        let mut records = records.unpack();
        self.0.resolve(input, bytes, &mut records, out);
        Parcel::pack(records)
    }

    fn finish(&mut self, input: usize, bytes: &[u8], out: &mut Resolved<'_>) {
        self.0.finish(input, bytes, out);
    }

    fn dump(&mut self, input: usize, bytes: &[u8], records: Parcel, ledger: &mut Ledger, out: &mut ListRecord<'_>) {
        self.0.dump(input, bytes, &mut records.unpack(), ledger, out);
    }

    fn facts(&self) -> Facts {
        self.0.facts()
    }
}
