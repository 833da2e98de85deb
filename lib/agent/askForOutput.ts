import { deriveModel } from '../core/deriveModel.js';
import type { Model } from '../core/model.js';
import { isWrapped, outputSchema } from '../core/outputWrapper.js';
import { toJsonSchema, type Schema } from '../core/schema.js';
import { unwrapOutput } from '../operators/unwrapOutput.js';

/** A model and not a part of `toolLoop`: only who uses `typed` has the code for it in a bundle. */
export const askForOutput = (model: Model, schema: Schema): Model =>
  deriveModel(model, (request) => {
    const jsonSchema = toJsonSchema(schema, 'The output');
    const chunks = model.stream({ ...request, output: outputSchema(jsonSchema) });
    return isWrapped(jsonSchema) ? chunks.pipe(unwrapOutput()) : chunks;
  });
