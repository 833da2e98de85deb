import assert from 'node:assert/strict';
import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** Asserts that axe finds nothing on a page as it is now, of whatever severity. `what` is the state, for the message. */
export async function assertAccessible(page: Page, what: string): Promise<void> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    // A colour that fades in has another contrast until it is there.
    await Promise.all(
      document.getAnimations().map((each) => (each.effect?.getTiming().iterations === 1 ? each.finished : 0)),
    );
    const run = (globalThis as unknown as { readonly axe: typeof axe }).axe.run;
    const { violations } = await run(document, { resultTypes: ['violations'] });
    return violations.flatMap(({ id, impact, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} (${impact}): ${target.join(' ')}: ${failureSummary}`),
    );
  });
  assert.deepEqual(found, [], what);
}
