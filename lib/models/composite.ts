import { defer } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import type { Capability } from '../core/capabilities.js';
import type { Chunk, MetadataChunk } from '../core/chunk.js';
import { createOperator } from '../core/createOperator.js';
import { markComposite, requireServable } from '../core/deriveModel.js';
import { ConfigurationError } from '../core/errors.js';
import { AllModelsFailedError } from '../core/runErrors.js';
import { setUsageOfError, usageOfError } from '../core/usageOfError.js';
import type { Capabilities, Model, ModelRequest } from '../core/model.js';
import { obeyStop, openResponse } from '../core/response.js';

/**
 * The first of several models.
 *
 * @param kind The name of the function that creates a model of them, for the error.
 * @throws ConfigurationError `model` if there are no models.
 */
export function firstModel(kind: string, [first]: readonly Model[]): Model {
  if (first) return first;
  throw new ConfigurationError(
    'model',
    `${kind} has no models.`,
    `Pass at least one: ${kind}([openai('gpt-6.1-terra')]).`,
  );
}

/**
 * Creates a model of several models. To its surroundings it looks like the first one: it has its provider and its name.
 * It has a capability if all models have it, and does not have it if one does not, so that what is sent with regard to
 * the capabilities can be served by each of them.
 *
 * @param first The first model.
 * @param models All models.
 * @param stream Returns the chunks of a request.
 */
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

/**
 * The chunks of one of several models. Metadata before its first chunk says which one it is:
 * `{ answeredBy: { provider, name } }`.
 *
 * @param open Opens the response. Default: as the request says.
 * @returns The chunks. Fails with ConfigurationError `capability`, without a request, if the model cannot serve it.
 */
export function streamOf(model: Model, request: ModelRequest, open = openResponse): Observable<Chunk> {
  return defer(() => {
    requireServable(model, request);
    return open(model, request).pipe(announceModel(model));
  });
}

/** Emits the metadata before the first chunk that is not only a notice, and again after a `retract`. */
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

/**
 * The error of a request for which no model remains: that of the only model, or one with the errors of all.
 *
 * @param last The last one to fail: its usage is in no `retract`. Default: the last in the list.
 */
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
