import type { JsonObject } from '../../../lib/core/json/json.js';
import { recordings } from '../../support/recordings.js';

/** The recordings of the project. */
export const ownRecordings = recordings('spec/recordings/openai-responses');
/** The recordings next to the project, where they are present. */
export const sharedRecordings = recordings('../shared/recordings/openai-responses');

/** The frames of one of the project's recordings. */
export function recording(name: string): readonly JsonObject[] {
  const found = ownRecordings.find((one) => one.name.endsWith(`/${name}`));
  if (!found) throw new Error(`There is no recording ${name}.`);
  return found.frames;
}
