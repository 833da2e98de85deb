import { addToList } from '../../core/lists.js';

/** A string of a frame's JSON, as it is written there. */
export interface FrameText {
  readonly start: number;
  readonly text: string;
  readonly name: string;
  readonly place: Place;
}

/** An object or a list. Its indexes, ids and types may follow its texts. */
interface Place {
  readonly outer: Place | undefined;
  readonly name: string;
  readonly position: string;
  readonly isList: boolean;
  count: number;
  indexes: string;
  labels: string;
}

/** V8 hashes a longer text by its length only: many long keys of a Map would be compared with each other. */
const MAX_KEY = 100;

/** Frames may be cut, or have binary data in between: after a string, JSON has a sign or the end of its line. */
const string = /"([^"\\\r\n]*(?:\\.[^"\\\r\n]*)*)(?:"(?:(\s*:)|(?=[ \t]*(?:[}\],\r\n]|$)))|\\?$)/;
const newFrame = /\r?\n\r?\n|\r\r|\n(?=\{)/;
const createTokens = () => new RegExp(`${string.source}|[{}[\\],]|\\d+|${newFrame.source}`, 'g');
const tokens = /* @__PURE__ */ createTokens();

function placeIn(outer: Place | undefined, name: string, isList = false): Place {
  const position = outer?.isList && outer.count > 0 ? String(outer.count) : '';
  return { outer, name, position, isList, count: 0, indexes: '', labels: '' };
}

function readTexts(frames: string): { readonly texts: readonly FrameText[]; readonly places: readonly Place[] } {
  const start = placeIn(undefined, '');
  const places: Place[] = [];
  const texts: FrameText[] = [];
  let [place, name] = [start, ''];
  const enter = (isList = false) => {
    const inner = placeIn(place, name, isList);
    places.push(inner);
    return inner;
  };
  for (const { 0: token, 1: text, 2: colon, index } of frames.matchAll(tokens)) {
    if (colon !== undefined) name = (text ?? '').slice(0, MAX_KEY);
    else if (text !== undefined) {
      texts.push({ start: index + 1, text, name, place: place.isList ? enter() : place });
      if (/^(?:type|\w*id)$/i.test(name) && place.labels.length < MAX_KEY) place.labels += ` ${text.slice(0, MAX_KEY)}`;
    } else if (token === '{' || token === '[') {
      place = enter(token === '[');
      name = place.isList ? name : '';
    } else if (token === ',') {
      place.count += 1;
      name = place.isList ? place.name : '';
    } else if (/\d/.test(token)) {
      if (/index$/i.test(name) && place.indexes.length < MAX_KEY) place.indexes += ` ${token.slice(0, MAX_KEY)}`;
    } else {
      place = /[}\]]/.test(token) ? (place.outer ?? start) : start;
      name = '';
    }
  }
  return { texts, places };
}

/** How servers tell the choices, the calls and the blocks of a response apart, which may alternate. */
const distinctions: readonly ((place: Place) => string)[] = [
  () => '',
  ({ indexes }) => indexes,
  ({ indexes, name }) => name + indexes,
  ({ position, name }) => name + position,
  ({ labels, name }) => name + labels,
];

/** The texts that may be deltas of one text: they have one name, and their places are not distinct. */
export function groupTexts(frames: string): readonly (readonly FrameText[])[] {
  const { texts, places } = readTexts(frames);
  const groups = new Map<FrameText, (readonly FrameText[])[]>();
  for (const distinguish of distinctions)
    for (const group of groupBy(texts, places, distinguish)) {
      const [first] = group;
      const others = (first && groups.get(first)) ?? [];
      const isNew = others.every(
        (other) => other.length !== group.length || other.some((text, at) => text !== group[at]),
      );
      if (first && isNew && group.length > 1) addToList(groups, first, group);
    }
  return [...groups.values()].flat();
}

/** A path is a number, so that a deep one costs no more than its last step. */
function groupBy(
  texts: readonly FrameText[],
  places: readonly Place[],
  distinguish: (place: Place) => string,
): Iterable<readonly FrameText[]> {
  const paths = new Map<string, number>();
  const pathOf = (outer: number, step: string): number => {
    const key = `${outer} ${step}`;
    const path = paths.get(key) ?? paths.size + 1;
    paths.set(key, path);
    return path;
  };
  const known = new Map<Place | undefined, number>();
  for (const place of places) {
    const outer = known.get(place.outer) ?? 0;
    const step = distinguish(place);
    known.set(place, step === '' ? outer : pathOf(outer, step));
  }
  const groups = new Map<number, FrameText[]>();
  for (const text of texts) addToList(groups, pathOf(known.get(text.place) ?? 0, `"${text.name}`), text);
  return groups.values();
}
