import { Subject } from 'rxjs';

/** The ids of the runs that waited and go on with answers of this page, wherever on the page they were given. */
export const resumedRuns = /* @__PURE__ */ new Subject<string>();
