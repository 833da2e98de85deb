/** After those of a drawing and of a replay. Plain JavaScript, served as it is. */
export const inspectorScript = `
if (location.hash.length > 1) sessionStorage.setItem('token', location.hash.slice(1));
history.replaceState(null, '', '/');
addEventListener('hashchange', () => location.reload());
const authorization = 'Bearer ' + sessionStorage.getItem('token');
const get = (path) => fetch(path, { headers: { authorization } });
const unreachable = 'The inspector does not answer. If it has ended, start it again, and open its new address.';
const list = find('.runs'), entries = new Map();
let isDrawing = false, hasEnded = false;

// The list

const timeOf = (ms) => ms < 1000 ? Math.round(ms) + ' ms' : ms < 60000 ? (ms / 1000).toFixed(1) + ' s'
  : Math.floor(ms / 60000) + ' min ' + Math.round(ms / 1000) % 60 + ' s';
const counted = (count, word) => count + ' ' + word + (count === 1 ? '' : 's');
const kindOf = (state) => state === 'running' || state === 'failed' ? state : state === 'stop' ? 'done' : 'ended';
function showRun(run) {
  const { button, title, note, state } = entries.get(run.id) ?? addRun(run.id);
  const parts = [run.name, new Date(run.at).toLocaleTimeString(), timeOf(run.duration),
    run.turns > 0 ? counted(run.turns, 'turn') : '', run.calls > 0 ? counted(run.calls, 'call') : ''];
  button.className = kindOf(run.state);
  title.textContent = run.title;
  button.title = run.title;
  note.textContent = parts.filter(Boolean).join(' · ');
  state.textContent = run.state;
}
function addRun(id) {
  const item = document.createElement('li'), button = document.createElement('button');
  const [title, state, note] = ['b', 'i', 'small'].map((name) => document.createElement(name));
  button.append(title, state, note);
  button.dataset.id = id;
  button.tabIndex = -1;
  button.addEventListener('click', () => select(id));
  item.append(button);
  list.prepend(item);
  const entry = { item, button, title, state, note };
  entries.set(id, entry);
  return entry;
}
let runs = [];
function showList(next) {
  runs = next;
  for (const run of [...runs].reverse()) showRun(run);
  const ids = new Set(runs.map(({ id }) => id));
  for (const [id, { item }] of entries) if (!ids.has(id)) { item.remove(); entries.delete(id); }
  find('.connection').textContent = runs.length === 0 ? 'Waiting for the first run' : counted(runs.length, 'run');
  find('.empty').hidden = runs.length > 0;
  if (!ids.has(selected)) selected = undefined;
  if (selected === undefined && runs.length > 0) select(runs[0].id);
  else void redraw();
}
list.addEventListener('keydown', (event) => {
  const buttons = [...list.querySelectorAll('button')], at = buttons.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const button = buttons[Math.min(buttons.length - 1, Math.max(0, to))];
  button.focus();
  select(Number(button.dataset.id));
});

// The drawing

const runOf = (id) => runs.find((run) => run.id === id);
function select(id) {
  selected = id;
  for (const [each, { button }] of entries) {
    button.tabIndex = each === id ? 0 : -1;
    button.setAttribute('aria-current', each === id);
  }
  closeSpec();
  closePlayer();
  find('.shown').hidden = false;
  find('.message').textContent = '';
  if (drawn?.id !== id) find('.drawing').setAttribute('aria-busy', 'true');
  void redraw();
}
function showProblem(text) {
  find('.problem').textContent = text ?? '';
  find('.problem').hidden = text === undefined;
}
async function load(name) {
  try {
    return await (await get('/api/runs/' + selected + '/' + name)).json();
  } catch {
    return { error: unreachable, isLost: true };
  }
}
function draw({ html, data }, keeps) {
  const place = find('.drawing'), chart = place.querySelector('.chart');
  const hasFocus = chart !== null && chart === document.activeElement;
  const before = keeps && drawing
    ? { index: drawing.selected, zoom: drawing.zoom, left: chart.scrollLeft, top: scrollY,
        table: place.querySelector('details').open } : undefined;
  drawing?.leave();
  place.innerHTML = html;
  drawing = startDrawing(place, data);
  const next = place.querySelector('.chart');
  if (hasFocus) next.focus({ preventScroll: true });
  if (!before) return;
  if (before.zoom > 1) drawing.setZoom(before.zoom);
  if (before.index >= 0) drawing.select(before.index, false);
  place.querySelector('details').open = before.table;
  next.scrollLeft = before.left;
  scrollTo(scrollX, before.top);
}
async function redraw() {
  const run = runOf(selected);
  if (!run || player || isDrawing || (drawn?.id === run.id && drawn.entries === run.entries)) return;
  isDrawing = true;
  const loaded = await load('drawing');
  isDrawing = false;
  if (run.id === selected && !player) {
    showProblem(loaded.error);
    find('.drawing').removeAttribute('aria-busy');
    if (!loaded.error) draw(loaded, drawn?.id === run.id);
    if (run.state === 'running' && !loaded.error) find('.facts dd').textContent = 'not yet';
    drawn = loaded.isLost ? undefined : { id: run.id, entries: run.entries };
    find('.replay').disabled = run.state === 'running';
    find('.replay').title = run.state === 'running' ? 'The run has not ended yet.' : '';
  }
  if (!hasEnded) setTimeout(redraw, 700);
}

// The spec, and the recording

find('.copy').addEventListener('click', async () => {
  const { spec, error } = await load('spec?runner=' + find('.runner').value);
  showProblem(error);
  if (error) return;
  find('.spec').hidden = false;
  find('.spec-text').textContent = spec;
  const done = find('.message');
  try {
    await navigator.clipboard.writeText(spec);
    done.textContent = 'Copied.';
  } catch {
    getSelection().selectAllChildren(find('.spec-text'));
    done.textContent = 'The browser does not allow copying: the spec is selected below.';
  }
});
function closeSpec() { find('.spec').hidden = true; find('.message').textContent = ''; }
find('.close-spec').addEventListener('click', () => { closeSpec(); find('.copy').focus(); });
find('.save').addEventListener('click', async () => {
  const blob = await get('/api/runs/' + selected + '/recording').then((response) => response.blob(), () => undefined);
  showProblem(blob ? undefined : unreachable);
  if (!blob) return;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = 'run-' + selected + '.jsonl';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});

// The connection

async function follow() {
  const response = await get('/api/runs');
  if (!response.ok) {
    find('.connection').textContent = (await response.json()).error;
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const parts = (text + part.value).split('\\n');
    text = parts.pop();
    if (parts.length > 0) showList(JSON.parse(parts.at(-1)));
  }
}
const ended = () => {
  hasEnded = true;
  find('.connection').textContent = 'The inspector has ended. Start it again, and open its new address.';
};
if (sessionStorage.getItem('token')) follow().then((value) => { if (runs.length > 0) ended(); }, ended);
else find('.connection').textContent = 'Open the address that the inspector printed, with its token.';
`;
