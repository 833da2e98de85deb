import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect } from '@jest/globals';
import type { Observable } from 'rxjs';
import { runDiagram } from '../../lib/testing/marbles/runDiagram.js';
import type { Diagram, Streams } from '../../lib/testing/marbles/runDiagram.js';

/** The text of `marbles/<name>.txt`. */
const diagramText = (name: string): string => readFileSync(resolve('marbles', `${name}.txt`), 'utf8');

/**
 * Runs `marbles/<name>.txt` as a test. Call it with a literal name: spec/testing/marbles/marbles.spec.ts searches the specs for
 * `diagram('<name>'`, and fails for a diagram that no spec runs.
 */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- as in runDiagram
export function diagram<S extends Readonly<Record<string, Observable<unknown>>> = Streams<'source'> & Streams>(
  name: string,
  build: (streams: S, diagram: Diagram) => Observable<unknown>,
): void {
  runDiagram(diagramText(name), build, (actual, expected) => expect(actual).toEqual(expected));
}
