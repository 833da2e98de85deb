/** It plays the events of a repeated run on the drawing. */
export const replayScript = `
const find = (selector) => document.querySelector(selector);
let selected, drawn, drawing;

// The replay

let player;
const transcript = find('.transcript'), position = find('.position'), playButton = find('.play');
function line(kind, text) {
  const paragraph = document.createElement('p');
  paragraph.className = kind;
  paragraph.textContent = text;
  transcript.append(paragraph);
}
function delta(kind, text) {
  if (text === '') return;
  const last = transcript.lastElementChild;
  if (last?.className === kind) last.append(text);
  else line(kind, text);
}
const short = (value) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value) ?? '';
  return text.length > 200 ? text.slice(0, 199) + '…' : text;
};
const lines = {
  text: ({ text }) => delta('text', text),
  thinking: ({ text }) => delta('thinking', text),
  toolStart: (event) => line('tool', '→ ' + event.name + ' ' + short(event.arguments)),
  toolWaiting: (event) => line('tool', '? ' + event.name + ' waits for a decision'),
  toolProgress: (event) => line('tool', '  ' + event.name + ': ' + short(event.value)),
  toolResult: (event) => event.error === undefined ? line('tool', '✓ ' + event.name + ': ' + short(event.result))
    : line('tool error', '✗ ' + event.name + ': ' + short(event.error)),
  retry: (event) => line('notice', 'retry ' + event.attempt + ' in ' + event.delay + ' ms'),
  retract: () => {
    for (let each = transcript.lastElementChild; each && each.className !== 'turn'; each = each.previousElementSibling)
      each.classList.add('void');
    line('notice', 'The turn starts over.');
  },
  turn: (event) => line('turn', ''),
  result: ({ result }) => line('notice', 'result: ' + result.finishReason),
};
function emit([, , kind, type, value]) {
  if (kind === 'event' && lines[type]) lines[type](value);
  if (kind === 'entry' && type === 'stop') line('notice', 'stopped by the application');
  if (kind === 'entry' && type === 'end' && value.outcome !== 'completed') line('notice error', value.outcome);
}
function moveTo(index) {
  const { items } = player;
  if (index < player.index) { transcript.replaceChildren(); player.index = -1; }
  for (let next = player.index + 1; next <= index; next++) emit(items[next]);
  player.index = index;
  transcript.scrollTop = transcript.scrollHeight;
  if (index >= 0) drawing.select(index, 'horizontally');
}
function showTime(now) {
  player.now = now;
  position.value = now;
  drawing.until(now);
  const text = timeOf(now) + ' of ' + timeOf(player.duration);
  find('.clock').textContent = text;
  position.setAttribute('aria-valuetext', text);
}
function seek(now) {
  showTime(now);
  let index = player.index;
  while (index + 1 < player.items.length && player.items[index + 1][0] <= now) index++;
  while (index >= 0 && player.items[index][0] > now) index--;
  if (index !== player.index) moveTo(index);
}
function setPlaying(isPlaying) {
  player.isPlaying = isPlaying;
  playButton.textContent = isPlaying ? 'Pause' : 'Play';
  if (!isPlaying) return;
  if (player.now >= player.duration) seek(0);
  const mine = player;
  let last = performance.now();
  requestAnimationFrame(function frame(time) {
    if (player !== mine || !mine.isPlaying) return;
    const passed = Math.max(0, time - last) * Number(find('.speed').value);
    last = time;
    seek(Math.min(mine.duration, mine.now + passed));
    if (mine.now >= mine.duration) setPlaying(false);
    else requestAnimationFrame(frame);
  });
}
function step(by) {
  setPlaying(false);
  const index = Math.min(player.items.length - 1, Math.max(0, player.index + by));
  moveTo(index);
  showTime(player.items[index][0]);
}
find('.replay').addEventListener('click', async () => {
  const id = selected, loaded = await load('replay');
  if (id !== selected) return;
  showProblem(loaded.error);
  if (loaded.error) return;
  player = { items: loaded.data.items, duration: loaded.data.duration, index: -1, now: 0, isPlaying: false };
  draw(loaded, false);
  find('.player').hidden = false;
  transcript.replaceChildren();
  const events = player.items.filter(([, , kind]) => kind === 'event').length;
  find('.verdict').textContent = loaded.difference === undefined
    ? 'Repeated with the recorded model and tools: the same ' + events + ' events.'
    : 'Repeated with the recorded model and tools: event ' + loaded.difference + ' differs from the recording.';
  position.max = player.duration;
  seek(0);
  playButton.focus();
});
playButton.addEventListener('click', () => setPlaying(!player.isPlaying));
find('.back').addEventListener('click', () => step(-1));
find('.forward').addEventListener('click', () => step(1));
position.addEventListener('input', () => { const at = Number(position.value); setPlaying(false); seek(at); });
function closePlayer() {
  if (!player) return;
  player = undefined;
  drawn = undefined;
  find('.player').hidden = true;
}
find('.close-player').addEventListener('click', () => { closePlayer(); find('.replay').focus(); void redraw(); });
`;
