export { RECORDING_VERSION } from './entries.js';
export type {
  AgentEntry,
  DeltasEntry,
  EndEntry,
  ExchangeEntry,
  HeaderEntry,
  PromptEntry,
  RecordedOutcome,
  RecordingEntry,
  RequestEndEntry,
  RequestEntry,
  RunEntry,
  StartEntry,
  StopEntry,
  ValueEntry,
} from './entries.js';
export { drawRun } from '../draw/drawRun.js';
export { inspectRuns } from './inspectRuns.js';
export type { InspectOptions } from './inspectRuns.js';
export { readRecording } from './readRecording.js';
export type { RecordedRequest, RecordedRun, RecordedStep, RunRecording } from './readRecording.js';
export { playCall } from './playCall.js';
export type { CallOutput } from './playCall.js';
export { record } from './record.js';
export { recordFetch } from './recordFetch.js';
export { recordedEvent } from './recordedEvent.js';
export type { RecordedExchange } from './recordedExchange.js';
export type { Recorder, Recording, RecordOptions } from './recordFetch.js';
export type { RecordingOptions, RecordingSink } from './recordingOutput.js';
export { recordRun } from './recordRun.js';
export type { RecordRunOptions } from './recordRun.js';
export { replay, replayEvents } from './replay.js';
export { replayRun } from './replayRun.js';
export type { PlayedAgent, RunReplay } from './replayRun.js';
export type { TimedEvent } from './recordedCalls.js';
export type { SpecRunner } from '../spec/specText.js';
export type { ReplayOptions } from './timeline.js';
export { writeSpec } from '../spec/writeSpec.js';
export type { WriteSpecOptions } from '../spec/writeSpec.js';
