import { describe, expect, it } from '@jest/globals';
import { NEVER, of } from 'rxjs';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import { HeldPlace } from '../../lib/core/heldPlace.js';
import { InnerWork } from '../../lib/core/innerWork.js';
import type { OuterRun } from '../../lib/core/nested.js';
import { createSemaphore } from '../../lib/core/semaphore.js';
import { observe } from '../support/observe.js';

/** A call: what it tells, in order. */
class Call extends InnerWork {
  readonly log: string[] = [];

  pause(): void {
    this.log.push('paused');
  }

  proceed(_: object, work: () => void): void {
    this.log.push('proceeds');
    work();
  }

  protected override suspendAll(): void {
    this.log.push('suspended');
  }
}

const waiting = (order: number) =>
  ({ task: { kind: 'ask', name: 'a', arguments: '', order } }) as unknown as Checkpoint;

function createWorld() {
  const semaphore = createSemaphore(1);
  const call = new Call();
  const createPlace = (outside: InnerWork = call) => new HeldPlace(semaphore, call as unknown as OuterRun, outside);
  /** Another call that needs a place. */
  const other = () => observe(NEVER.pipe(semaphore.limit())).subscription;
  return { semaphore, call, createPlace, other };
}

describe('HeldPlace', () => {
  it('HeldPlace is left when all that it has inside waits, and taken again before one of them goes on', () => {
    const { semaphore, call, createPlace, other } = createWorld();
    const place = createPlace();
    observe(place.limit(NEVER));
    const endWork = place.begin();
    place.suspend(waiting(0));
    expect([semaphore.isFull, call.log]).toEqual([true, []]);
    endWork();
    expect([semaphore.isFull, call.log]).toEqual([false, ['suspended']]);
    const held = other();
    place.goOn(0, () => call.log.push('goes on'));
    expect(call.log).toEqual(['suspended', 'paused']);
    held.unsubscribe();
    expect([semaphore.isFull, call.log]).toEqual([true, ['suspended', 'paused', 'proceeds', 'goes on']]);
  });

  it('HeldPlace is kept for the second one that goes on, if the first one waits again at once', () => {
    const { semaphore, createPlace, other } = createWorld();
    const place = createPlace();
    observe(place.limit(NEVER));
    for (const order of [0, 1]) place.suspend(waiting(order));
    const held = other();
    place.goOn(0, () => place.suspend(waiting(0)));
    let endWork: (() => void) | undefined;
    place.goOn(1, () => (endWork = place.begin()));
    held.unsubscribe();
    expect([endWork, semaphore.isFull]).toEqual([expect.any(Function), true]);
    endWork?.();
    expect(semaphore.isFull).toBe(false);
  });

  it('HeldPlace leaves the place in which it is, too, and needs both again', () => {
    const { call, createPlace, other } = createWorld();
    const outer = createPlace();
    const inner = new HeldPlace(createSemaphore(1), call as unknown as OuterRun, outer);
    observe(outer.limit(inner.limit(NEVER)));
    inner.suspend(waiting(0));
    const held = other();
    inner.goOn(0, () => call.log.push('goes on'));
    expect(call.log).not.toContain('goes on');
    held.unsubscribe();
    expect(call.log).toContain('goes on');
  });

  it('HeldPlace lets its call go on when the source is left before it has a place, and frees none twice', () => {
    const { semaphore, call, createPlace, other } = createWorld();
    const held = other();
    observe(createPlace().limit(of(1))).subscription.unsubscribe();
    expect(call.log).toEqual(['paused', 'proceeds']);
    held.unsubscribe();
    expect(semaphore.isFull).toBe(false);
    const seen = observe(createPlace().limit(of(1)));
    expect([seen.values, seen.completed, semaphore.isFull]).toEqual([[1], true, false]);
  });
});
