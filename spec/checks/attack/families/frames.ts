import type { JsonValue } from '../../../../lib/core/json/json.js';
import { assertTyped, createRandom } from '../family.js';
import type { Family } from '../family.js';
import { bodyOf, eventsOf, modelOfBody, replaceValue, wires } from '../wires.js';

type Random = ReturnType<typeof createRandom>;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Replaces a value in one frame of a body. */
function mutateJson(bytes: Uint8Array, random: Random): Uint8Array {
  const lines = decoder.decode(bytes).split('\n');
  const withJson = lines.flatMap((line, index) => (line.includes('{') ? [index] : []));
  const [first = 0] = withJson;
  const chosen = random.pick([first, ...withJson]);
  const line = lines[chosen] ?? '';
  const at = line.indexOf('{');
  lines[chosen] = line.slice(0, at) + replaceValue(JSON.parse(line.slice(at)) as JsonValue, random);
  return encoder.encode(lines.join('\n'));
}

/** Omits, repeats or exchanges lines of a body. */
function mutateLines(bytes: Uint8Array, random: Random): Uint8Array {
  const lines = decoder.decode(bytes).split('\n');
  const [from, to] = [random.integer(lines.length), random.integer(lines.length)];
  const removed = lines.splice(from, 1 + random.integer(4));
  if (random.integer(2) === 0) lines.splice(to, 0, ...removed, ...(random.integer(2) === 0 ? removed : []));
  return encoder.encode(lines.join('\n'));
}

/** Replaces, removes or inserts bytes. */
function mutateBytes(bytes: Uint8Array, random: Random): Uint8Array {
  const at = random.integer(bytes.length);
  const inserted = Uint8Array.from({ length: random.integer(5) }, () => random.integer(256));
  const removed = random.integer(5);
  return Uint8Array.of(...bytes.subarray(0, at), ...inserted, ...bytes.subarray(at + removed));
}

const randomBytes = (_: Uint8Array, random: Random): Uint8Array =>
  Uint8Array.from({ length: random.integer(300) }, () => random.integer(256));

const mutations = [mutateJson, mutateJson, mutateLines, mutateBytes, randomBytes];

/** Random bytes and mutated frames in every decoder: the stream completes, or ends with a typed error. */
export const frames: Family = {
  name: 'frames',
  async run(check, { choose }) {
    for (const [index, wire] of wires.entries()) {
      const { bytes, contentType } = await bodyOf(wire);
      for (let number = 0; number < choose(150, 5000); number++) {
        const seed = index * 1_000_000 + number;
        await check(`${wire}, seed ${seed}`, async () => {
          const random = createRandom(seed);
          let mutated = bytes;
          for (let times = 1 + random.integer(3); times > 0; times--) {
            const mutate = mutations[random.integer(mutations.length)] ?? mutateJson;
            try {
              mutated = mutate(mutated, random);
            } catch (error) {
              // An earlier mutation has broken the JSON, or nested it too deeply for this one.
              if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
            }
          }
          const { error } = await eventsOf(modelOfBody(wire, [mutated], contentType));
          if (error !== undefined) assertTyped(error);
        });
      }
    }
  },
};
