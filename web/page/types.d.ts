// What the page and the converter (web/wasm) say to each other. The shapes of reports and statistics are those of
// `traceconv --report` and `traceconv stats --json`; only what the page shows is named here.

export interface FileRef { id: number; name: string; bytes: number }

export interface ConvertRequest {
  do: "convert";
  name: string;
  inputs: {file: FileRef; core: number | null}[];
  format?: string;
  clock_hz?: string;
  cores?: number;
  detail?: string;
  from?: string;
  to?: string;
  own: {name: string; text?: string; file?: FileRef}[];
}

export type Request =
  | {do: "formats"}
  | {do: "inspect"; file: FileRef}
  | {do: "unpack"; file: FileRef}
  | {do: "choose"; file: FileRef; format: string; option: string; candidates: FileRef[]}
  | ConvertRequest
  | {do: "check"; budget: string; statistics: string}
  | {do: "diff"; base: string; new: string};

export interface OptionSpec { name: string; kind: "flag" | "text" | "file"; value: string | null; repeatable: boolean; help: string }
export interface Format { name: string; title: string; recorded_by: string; options: OptionSpec[] }
export interface Formats { version: string; formats: Format[] }

export interface Found {
  kind: "recording" | "archive" | "option-file" | "budget" | "statistics" | "unknown";
  format: string | null;
  option: string | null;
  because: string;
  layers: string[];
  recordings: number;
}

/** The best files for an option, by their numbers. `stated`: the recording itself states that it belongs to them. */
export interface Chosen { best: number[]; stated: boolean }

/** The files of an archive: parts of it (`stored`) or of what was unpacked. */
export interface Unpacked { members: {name: string; problem: string | null; start: number; bytes: number; stored: boolean}[] }

/** A file that was given to the page, or is in an archive. */
export interface Entry {
  id: number;
  /** As on the command line: `ARCHIVE!FILE` in an archive. */
  name: string;
  file: File;
  archive: Entry | null;
  found: Found | null;
  abort: AbortController;
  /** Of an archive: gives the storage of its files back. */
  drop: () => void;
  core: number | null;
  /** Of a recording: the files that the user chose for options, by the options' names. */
  chosen: Map<string, number>;
}

export interface Loss { kind: string; text: string; count: number; first_offset: number | null; at_least_lost: number }
export interface Detail { name: string; value: string; source: string }

export interface Finding { of: string; certainty: "known" | "inferred" | "assumed" | "ambiguous"; because: string }

export interface InputReport {
  path: string;
  core: number | null;
  format: string | null;
  detected_because: string | null;
  layers: string[];
  file_bytes: number;
  memory: {what: string; image_bytes: number; offset: number} | null;
  input_bytes: number;
  decoded_bytes: number;
  skipped_bytes: number;
  frames_ok: number;
  frames_bad: number;
  events: number;
  first_ns: number | null;
  last_ns: number | null;
  losses: Loss[];
  repairs: Loss[];
  clock: {hz: number; because: string} | null;
  system: string | null;
  cores: number;
  sessions: number;
  findings: Finding[];
  details: Detail[];
  hints: string[];
  warnings: string[];
  error: string | null;
}

export interface Spread {
  count: number;
  total_ns: number;
  min_ns: number | null;
  mean_ns: number | null;
  p50_ns: number | null;
  p99_ns: number | null;
  max_ns: number | null;
}

export interface Statistics {
  first_ns: number | null;
  last_ns: number | null;
  gaps: number;
  cores: {core: number; busy_ns: number; idle_ns: number; interrupts_ns: number; unknown_ns: number; load_percent: number | null; switches: number}[];
  tasks: {
    name: string; session: number; is_idle: boolean; priority: number | null; run_ns: number; cpu_percent: number | null; runs: Spread;
    preemptions: number | null; ready_ns: number | null; waits: Spread; latency: Spread; stack_free_bytes: number | null;
  }[];
  interrupts: {name: string; core: number; session: number; durations: Spread; self_ns: number}[];
  objects: {
    name: string; kind: string; session: number; sends: number; receives: number; high_water: number | null; capacity: number | null;
    holds: Spread | null; waits: Spread; longest_waiter: string | null;
  }[];
  machines: {
    name: string; session: number; priority: number | null; taken: number; steps: Spread; busy_percent: number | null; transitions: number;
    queued: Spread; responses: Spread; high_water: number | null;
  }[];
  lanes: {
    name: string; owner: string | null; session: number; spans: Spread; instants: number; values: number; least: number | null;
    greatest: number | null; last: number | null;
  }[];
  functions: {name: string; file: string | null; line: number | null; is_interrupt: boolean; calls: Spread; self_ns: number; samples: number}[];
  heap: {allocations: number; frees: number; failures: number; used_bytes: number; high_water_bytes: number} | null;
  logs: {severity: string; count: number}[];
}

export interface Converted {
  report: {tool_version: string; inputs: InputReport[]; traces: {output_bytes: number; statistics: Statistics | null}[]};
  stats: {recordings: {inputs: InputReport[]; losses: {cases: number; at_least_lost: number; repairs: number}; statistics: Statistics | null}[]};
}

export interface Verdict {
  rule: string;
  name: string | null;
  reason: string | null;
  outcome: "kept" | "broken" | "missing" | "skipped";
  unit: string;
  measured: number;
  values: {metric: string; value: number; margin: number}[];
  missing: string | null;
}
export interface Checked { summary: string; verdicts: Verdict[] }

export interface Change { metric: string; section: string; name: string; unit: string; base: number; new: number; change_percent: number | null; direction: "worse" | "better" | "different" }
export interface Compared { summary: string; worst: string | null; diff: {compared: number; changes: Change[]; added: {section: string; name: string}[]; removed: {section: string; name: string}[]} }

declare global {
  // Of workers, which the library "dom" leaves out.
  class FileReaderSync { readAsArrayBuffer(blob: Blob): ArrayBuffer }
  interface FileSystemSyncAccessHandle { write(bytes: ArrayBufferView, options: {at: number}): number; close(): void }
  interface FileSystemFileHandle { createSyncAccessHandle(): Promise<FileSystemSyncAccessHandle> }
}
