import type { ViewStatus } from '../../operators/view/view.js';

const busyStatuses: readonly ViewStatus[] = ['sending', 'thinking', 'streaming', 'runningTools'];

/** A run that waits for the user is not busy. */
export const isBusy = (status: ViewStatus): boolean => busyStatuses.includes(status);
