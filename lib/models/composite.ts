import { defer, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import type { Capability } from '../core/capabilities.js';
import type { Chunk, MetadataChunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import { markComposite, requireServable } from '../core/deriveModel.js';
import { modelError } from '../core/errors.js';
import { AllModelsFailedError } from '../core/runErrors.js';
import { setUsageOfError, usageOfError } from '../core/usageOfError.js';
import type { Capabilities, Model, ModelRequest } from '../core/model.js';
import { obeyStop, openResponse } from '../core/response.js';

export function firstModel(kind: string, [first]: readonly Model[]): Model {
  if (first) return first;
  throw modelError(`${kind} has no models.`, `Pass at least one: ${kind}([openai('gpt-6.1-terra')]).`);
}

/** A capability is true if all models have it, and false if one lacks it: each of them can serve what is sent. */
export function compositeModel(first: Model, models: readonly Model[], stream: Model['stream']): Model {
  const { provider, name } = first;
  return markComposite({ provider, name, capabilities: commonCapabilities(models), stream: obeyStop(stream) });
}

function commonCapabilities(models: readonly Model[]): Capabilities {
  const names = new Set(models.flatMap(({ capabilities = {} }) => Object.keys(capabilities) as Capability[]));
  const common: Partial<Record<Capability, boolean>> = {};
  for (const name of names) {
    const values = models.map(({ capabilities }) => capabilities?.[name]);
    if (values.includes(false)) common[name] = false;
    else if (!values.includes(undefined)) common[name] = true;
  }
  return common;
}

/** Metadata `answeredBy` comes first. If the model cannot serve the request, ConfigurationError `capability`. */
export function streamOf(model: Model, request: ModelRequest, open = openResponse): Observable<Chunk> {
  return defer(() => {
    requireServable(model, request);
    return open(model, request).pipe(announceModel(model));
  });
}

/** Announces before the first chunk that is not only a notice, and again after a `retract`. */
function announceModel({ provider, name }: Model): MonoTypeOperatorFunction<Chunk> {
  return createOperator((out) => {
    let isAnnounced = false;
    const announcement: MetadataChunk = { type: 'metadata', metadata: { answeredBy: { provider, name } } };
    return {
      next(chunk) {
        const { type } = chunk;
        if (type === 'retract') isAnnounced = false;
        else if (!isAnnounced && type !== 'retry') {
          isAnnounced = true;
          // A composite model announces the model that answers itself.
          if (!(type === 'metadata' && 'answeredBy' in chunk.metadata)) out.next(announcement);
        }
        out.next(chunk);
      },
    };
  });
}

/** The error of the only model, or the errors of all. The usage of the last to fail is in no `retract`. */
export function combinedError(
  models: readonly Model[],
  errors: readonly unknown[],
  last: unknown = errors.at(-1),
): unknown {
  if (errors.length === 1) return errors[0];
  const combined = new AllModelsFailedError(models, errors);
  setUsageOfError(combined, usageOfError(last));
  return combined;
}
