import { concat, defer, EMPTY, from, NEVER, of, throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Chunk } from '../../../core/chunk.js';
import { deriveModel } from '../../../core/deriveModel.js';
import { errorText } from '../../../core/errors.js';
import { innerAgentOf } from '../../../core/innerAgent.js';
import type { JsonObject, JsonValue } from '../../../core/json/json.js';
import type { ToolErrorCode } from '../../../core/message.js';
import type { Model } from '../../../core/model.js';
import { isMarkedProgress } from '../../../core/progress.js';
import type { Tool } from '../../../core/tool.js';
import { runTool } from '../../../operators/execute/runTool.js';
import type { ToolValue } from '../../../operators/execute/runTool.js';
import { ToolFailure } from '../../../operators/execute/toolFailure.js';
import { describedError } from '../../runs/trustedDescription.js';
import type { WrapTurn } from '../../runs/wrapInnerRuns.js';
import { wrapInnerRuns } from '../../runs/wrapInnerRuns.js';
import { describeError } from '../../../transport/publicError.js';
import type { DurableStep, RunSteps, StepEnd } from './runSteps.js';

/** A stored model request: its chunks, with consecutive deltas joined. */
interface StoredRequest {
  readonly chunks: readonly Chunk[];
  readonly failure?: JsonObject;
  /** Whether the request was left: what ended it, ends it again. */
  readonly isOpen?: boolean;
}

/** A stored tool call: its result, or its error. */
interface StoredCall {
  readonly value?: JsonValue;
  readonly failure?: { readonly code: ToolErrorCode; readonly text: string; readonly data?: JsonObject };
  readonly isOpen?: boolean;
}

/**
 * Makes each model request and each tool call of a run a step. The result of a step is only what it has added to the
 * run. Inner agents share the steps of their run.
 */
export function durableTurns(steps: RunSteps, once: WrapTurn = (turn) => turn): WrapTurn {
  const wrapTool = (tool: Tool): Tool => {
    if (!tool.execute) return tool;
    if (innerAgentOf(tool)) return wrapInnerRuns(tool, durable);
    const execute: Tool['execute'] = (args, context) =>
      steps.run(`tool ${tool.name} ${context.idempotencyKey}`, callStep(runTool(tool, args, context), steps));
    return { ...tool, execute };
  };
  const durable: WrapTurn = (turn) => (state, context) => {
    const { options, tools, model, runId = '' } = context;
    let requests = 0;
    let calls = 0;
    const nameRequest = () => `model ${runId}.${state.turn}.${requests++}`;
    return turn(state, {
      ...context,
      model: durableModel(model, steps, nameRequest),
      tools: tools.map(wrapTool),
      options: {
        ...options,
        // A repeated execution must create the same ids, and begin its steps in the same order.
        newId: options.newId ?? (() => `call_${state.turn}_${calls++}`),
        eagerTools: false,
        ...(tools.some((tool) => innerAgentOf(tool)) ? { toolConcurrency: 1 } : {}),
      },
    });
  };
  return (turn) => once(durable(turn));
}

/** A model whose requests are steps. */
const durableModel = (model: Model, steps: RunSteps, name: () => string): Model =>
  deriveModel(model, (request) =>
    defer(() => steps.run<Chunk, StoredRequest>(name(), requestStep(model.stream(request), steps))),
  );

const requestStep = (source: Observable<Chunk>, { replayed }: RunSteps): DurableStep<Chunk, StoredRequest> => ({
  source,
  isHeld: ({ type }) => type === 'finish',
  store: (chunks, end) => ({
    chunks: chunks.reduce(joinChunk, []),
    ...(typeof end === 'object' ? { failure: describeError(end.thrown) } : {}),
    ...(end === 'left' ? { isOpen: true } : {}),
  }),
  restore: ({ chunks, failure, isOpen = false }) =>
    concat(
      from(chunks),
      failure ? throwError(() => describedError(failure)) : EMPTY,
      isOpen ? waitForEnd(replayed) : EMPTY,
    ),
});

/** Appends a chunk; a delta to the one before it. The array is that of one step. */
function joinChunk(chunks: Chunk[], chunk: Chunk): Chunk[] {
  const last = chunks.at(-1);
  const isDelta = chunk.type === 'text' || chunk.type === 'thinking';
  if (isDelta && last?.type === chunk.type && isPlain(chunk) && isPlain(last))
    chunks[chunks.length - 1] = { ...last, text: last.text + chunk.text };
  else chunks.push(chunk);
  return chunks;
}

/** Whether a delta has only its text. */
const isPlain = (chunk: Chunk): boolean => Object.keys(chunk).every((key) => key === 'type' || key === 'text');

const callStep = (source: Observable<ToolValue>, { replayed }: RunSteps): DurableStep<ToolValue, StoredCall> => ({
  source,
  isHeld: (value) => !isMarkedProgress(value),
  store: storedCall,
  restore({ value, failure, isOpen = false }) {
    if (isOpen) return waitForEnd(replayed);
    return failure ? throwError(() => new ToolFailure(failure.code, failure.text, failure.data)) : of(value ?? null);
  },
});

function storedCall(values: readonly ToolValue[], end: StepEnd): StoredCall | undefined {
  if (end === 'left') return { isOpen: true };
  if (end === 'complete') return { value: (values.findLast((value) => !isMarkedProgress(value)) ?? null) as JsonValue };
  const { thrown } = end;
  if (!(thrown instanceof ToolFailure)) return { failure: { code: 'failed', text: errorText(thrown) } };
  const { code, message: text, data } = thrown;
  // The record could not be written: another process has the run, and executes the call.
  return code === 'not_executed' ? undefined : { failure: { code, text, ...(data ? { data } : {}) } };
}

/** Waits for the stop, the cancellation or the deadline that has ended a step before. */
const waitForEnd = (replayed: () => void): Observable<never> =>
  defer(() => {
    replayed();
    return NEVER;
  });
