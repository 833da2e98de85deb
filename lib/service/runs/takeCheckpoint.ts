import { asyncScheduler, ignoreElements, map } from 'rxjs';
import type { Observable } from 'rxjs';
import { RequestError } from '../http/requestError.js';
import type { RunAccess } from './runAccess.js';
import type { RunRecord } from '../ports/runStore.js';

type Access = Pick<RunAccess<never>, 'update'>;

/** Takes the checkpoint of a run that waits. If several requests do this, in any process, only one succeeds. */
export const takeCheckpoint = (
  access: Access,
  waitingId: string,
  { id, owner }: Pick<RunRecord, 'id' | 'owner'>,
): Observable<never> =>
  access
    .update(waitingId, owner, (record) => {
      const isFree = record?.state === 'waiting' || record?.resumedBy === id;
      const updated = asyncScheduler.now();
      return isFree ? { ...record, state: 'ended', updated, checkpoint: undefined, resumedBy: id } : undefined;
    })
    .pipe(
      map((isUsed) => {
        if (!isUsed) throw notWaiting();
      }),
      ignoreElements(),
    );

/** Gives the checkpoint back: the run that took it could not begin. */
export const returnCheckpoint = (
  access: Access,
  waitingId: string,
  { id, owner, checkpoint }: Pick<RunRecord, 'id' | 'owner' | 'checkpoint'>,
): Observable<never> =>
  access
    .update(waitingId, owner, (record) => {
      const updated = asyncScheduler.now();
      return record?.resumedBy === id
        ? { ...record, state: 'waiting', updated, checkpoint, resumedBy: undefined }
        : undefined;
    })
    .pipe(ignoreElements());

/** The error for an answer to a run that does not wait. */
export const notWaiting = () => new RequestError(409, 'This run does not wait for an answer, or was answered already.');
