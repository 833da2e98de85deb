/** What every provider takes as the name of a tool: OpenAI and Anthropic have the characters and the 64, Google how a name begins. */
const longest = 64;
const valid = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/**
 * Names for a server's tools that every provider takes.
 *
 * A name that is good stays as it is. In others, what is not a letter, a digit, `_` or `-` becomes `_`, an `_` comes before a digit or `-` at the
 * beginning, and after 64 characters they are cut; of those that have become the same, later ones are numbered (`_2`, `_3`).
 */
export function toolNames(names: readonly string[]): readonly string[] {
  const used = new Set(names.filter(isGood));
  return names.map((name) => {
    if (isGood(name)) return name;
    const changed = /^[A-Za-z_]/.test(name) ? name : `_${name}`;
    const free = unused(changed.replace(/[^A-Za-z0-9_-]/g, '_'), used);
    used.add(free);
    return free;
  });
}

const isGood = (name: string) => name.length <= longest && valid.test(name);

function unused(name: string, used: ReadonlySet<string>): string {
  let free = name.slice(0, longest);
  for (let number = 2; used.has(free); number++) free = `${name.slice(0, longest - `_${number}`.length)}_${number}`;
  return free;
}
