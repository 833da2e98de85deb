import { SpanKind } from '@opentelemetry/api';
import { defer } from 'rxjs';
import { deriveModel } from '../../core/deriveModel.js';
import type { RunEvent } from '../../core/event.js';
import { asKnownEvent } from '../../core/eventGuards.js';
import type { Orchestrator } from '../../agent/orchestrator.js';
import { finishAttributes } from './attributes.js';
import { Operation, runOperation } from './operation.js';
import type { TracedRun } from './telemetry.js';
import { ToolCalls } from './toolCalls.js';
import { tracedStream } from './traceModel.js';

/** Makes a turn an operation of its run, and the requests and the tools of the turn operations of the turn. */
export function traceTurn(run: TracedRun, turn: Orchestrator['turn']): Orchestrator['turn'] {
  const { telemetry, onUsage } = run;
  return (state, turnContext) =>
    defer(() => {
      run.onTurn(state, turnContext);
      const operation = new Operation(telemetry, {
        name: 'turn',
        kind: SpanKind.INTERNAL,
        attributes: { 'rivulet.turn': state.turn + 1 },
        parent: run.context,
      });
      const calls = new ToolCalls(run, operation, turnContext.tools);
      const model = deriveModel(turnContext.model, (request) =>
        tracedStream(turnContext.model, request, telemetry, operation.context, onUsage),
      );
      return defer(() => turn(state, { ...turnContext, model, tools: calls.tools })).pipe(
        runOperation<RunEvent>(operation, {
          next(event) {
            const known = asKnownEvent(event);
            calls.observe(event);
            if (known.type === 'turn') operation.end(finishAttributes(known.finishReason));
            // `openCalls` is the last event of a turn whose calls wait.
            else if (known.type === 'openCalls' && known.waits) operation.end(finishAttributes('waiting'));
          },
          teardown: () => calls.cancelAll(),
        }),
      );
    });
}
