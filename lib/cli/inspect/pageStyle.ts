export const inspectorStyle = `
body.inspector { display: grid; grid-template-columns: 19rem minmax(0, 1fr); min-height: 100vh; }
.inspector [hidden] { display: none; }
.inspector nav { position: sticky; top: 0; height: 100vh; display: flex; flex-direction: column;
  border-right: 1px solid var(--line); background: var(--lane); }
.inspector .heading { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .8rem; }
.inspector nav .heading { padding: .8rem 1rem .5rem; }
.inspector h2 { font-size: .95rem; margin: 0; }
.inspector .heading p { margin: 0; color: var(--soft); font-size: 12px; flex: 1; }
.inspector .heading button { margin-left: auto; }
ul.runs { list-style: none; margin: 0; padding: 0 .5rem 1rem; overflow-y: auto; flex: 1; }
.runs button { display: grid; grid-template-columns: 1fr auto; gap: 0 .6rem; width: 100%; text-align: left;
  padding: .4rem .6rem; margin-top: 2px; border-color: transparent; }
.runs button:hover { border-color: var(--line); }
.runs button[aria-current='true'] { background: var(--page); border-color: var(--focus); }
.runs b, .runs small { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.runs b { font-weight: 600; } .runs small { grid-column: 1 / -1; }
.runs small { color: var(--soft); font-size: 11px; font-variant-numeric: tabular-nums; }
.runs i { font-style: normal; font-size: 11px; align-self: center; }
.runs .running i { color: var(--text); } .runs .failed i { color: var(--bad); }
.runs .running i::before { content: '● '; }
.runs .done i { color: var(--good); } .runs .ended i { color: var(--soft); }
.inspector main { min-width: 0; }
.empty { padding: 2rem 1.25rem; max-width: 44rem; }
.actions { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem .8rem; padding: .7rem 1.25rem;
  border-bottom: 1px solid var(--line); }
.actions label, .controls label { color: var(--soft); font-size: 12px; }
.actions .message { color: var(--soft); font-size: 12px; }
.inspector select { font: inherit; color: inherit; background: var(--lane); border: 1px solid var(--line);
  border-radius: 6px; min-height: 28px; }
.inspector button:disabled { opacity: .5; cursor: default; }
.inspector section.spec, .inspector section.player { padding-block: .7rem; border-bottom: 1px solid var(--line); }
.spec-text { margin-top: .5rem; }
.controls { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem .6rem; margin: .5rem 0; }
.controls .play { min-width: 4.5rem; } .controls .position { flex: 1 1 8rem; min-width: 6rem; margin: 0;
  accent-color: var(--focus); }
.controls .clock { min-width: 9.5rem; text-align: right; font-variant-numeric: tabular-nums; }
.transcript { height: 11rem; overflow: auto; border: 1px solid var(--line); border-radius: 6px; padding: .5rem .75rem;
  background: var(--lane); }
.transcript p { margin: 0 0 .35rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.transcript .thinking { color: var(--thinking); } .transcript .tool, .transcript .notice { color: var(--soft);
  font: 12px/1.45 ui-monospace, monospace; }
.transcript .input { font-weight: 600; } .transcript .error { color: var(--bad); }
.transcript .void { text-decoration: line-through; color: var(--soft); }
.problem { margin: 1rem 1.25rem; padding: .6rem .8rem; border: 1px solid var(--bad); border-radius: 6px; }
.curtain { position: absolute; top: 0; bottom: 0; right: 0; background: var(--page); opacity: .75; z-index: 1;
  pointer-events: none; }
@media (max-width: 900px) {
  body.inspector { display: block; }
  .inspector nav { position: static; height: auto; max-height: 34vh; border-right: 0;
    border-bottom: 1px solid var(--line); }
  .actions, .inspector section.spec, .inspector section.player, .empty { padding-inline: .8rem; }
  .controls .position { order: 1; flex-basis: 100%; } .controls .clock { order: 2; flex-basis: 100%; text-align: left; }
  .inspector .player .verdict { order: 1; flex-basis: 100%; } }
@media print { .inspector nav, .inspector .actions, .inspector .player, .inspector .spec { display: none; }
  body.inspector { display: block; } }
`;
