/**
 * A hand-written parser of streamed JSON: one loop over the characters, one growing object, no validation, no
 * snapshots.
 */
export function incrementalParser(): { push(text: string): void; value(): unknown } {
  type Open = unknown[] | Record<string, unknown>;
  const stack: Open[] = [];
  const keys: string[] = [];
  let root: unknown;
  let key = '';
  let buffer = '';
  let state: 'value' | 'string' | 'escape' | 'scalar' | 'after' = 'value';
  let expectsKey = false;
  let isKey = false;
  const put = (value: unknown) => {
    const top = stack.at(-1);
    if (Array.isArray(top)) top.push(value);
    else if (top) top[key] = value;
    else root = value;
  };
  const scalar = () => {
    put(buffer === 'true' ? true : buffer === 'false' ? false : buffer === 'null' ? null : Number(buffer));
    buffer = '';
  };
  return {
    value: () => root,
    push(text) {
      for (let at = 0; at < text.length; at++) {
        const char = text.charAt(at);
        if (state === 'string') {
          const from = at;
          while (at < text.length && text.charCodeAt(at) !== 34 && text.charCodeAt(at) !== 92) at++;
          if (at > from) buffer += text.slice(from, at);
          if (at === text.length) return;
          if (text.charCodeAt(at) === 92) state = 'escape';
          else {
            if (isKey) key = buffer;
            else put(buffer);
            buffer = '';
            state = 'after';
          }
          continue;
        }
        if (state === 'escape') {
          buffer += { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }[char] ?? char;
          state = 'string';
          continue;
        }
        if (state === 'scalar') {
          if (char !== ',' && char !== ']' && char !== '}') {
            buffer += char;
            continue;
          }
          scalar();
          state = 'after';
        }
        switch (char) {
          case '{':
          case '[': {
            const made: Open = char === '{' ? {} : [];
            put(made);
            stack.push(made);
            keys.push(key);
            expectsKey = char === '{';
            state = 'value';
            break;
          }
          case '}':
          case ']':
            stack.pop();
            key = keys.pop() ?? '';
            state = 'after';
            break;
          case ',':
            expectsKey = !Array.isArray(stack.at(-1));
            state = 'value';
            break;
          case ':':
            expectsKey = false;
            state = 'value';
            break;
          case '"':
            isKey = expectsKey;
            state = 'string';
            break;
          case ' ':
          case '\n':
            break;
          default:
            buffer = char;
            state = 'scalar';
        }
      }
    },
  };
}
