/** Without the script, the page is still a complete picture. Plain JavaScript, since the page is one file. */
export const drawingScript = `
function startDrawing(root, data) {
  const plane = root.querySelector('.plane'), chart = root.querySelector('.chart');
  const lanes = root.querySelector('.lanes');
  const tracks = [...root.querySelectorAll('.track')], cursor = root.querySelector('.cursor');
  const panel = root.querySelector('.panel'), title = panel.querySelector('h2');
  const json = panel.querySelector('.json'), frame = panel.querySelector('.frame');
  const { items, frames, rows, duration } = data;
  const table = root.querySelector('details');
  const byLane = tracks.map(() => []);
  items.forEach((item, index) => byLane[item[1]].push(index));
  let selected = -1, zoom = 1, end = Infinity, curtain;
  const time = (ms) => ms < 1000 ? Math.round(ms) + ' ms' : (ms / 1000).toFixed(3) + ' s';
  const leftOf = (track, at) =>
    track.left - lanes.getBoundingClientRect().left + track.width * Math.min(1, at / duration) + 'px';
  function until(at) {
    end = at;
    if (!curtain) lanes.append(curtain = document.createElement('li'));
    curtain.className = 'curtain';
    curtain.setAttribute('aria-hidden', 'true');
    curtain.style.left = leftOf(tracks[0].getBoundingClientRect(), at);
  }
  function place() {
    if (curtain) until(end);
    if (selected < 0) { cursor.hidden = true; return; }
    const [at, lane] = items[selected], track = tracks[lane].getBoundingClientRect();
    cursor.hidden = false;
    cursor.style.left = leftOf(track, at);
  }
  function select(index, scrolls) {
    if (index < 0 || index >= items.length) return;
    if (selected >= 0) tracks[items[selected][1]].classList.remove('here');
    selected = index;
    const [at, lane, kind, type, value, wire] = items[index];
    tracks[lane].classList.add('here');
    const named = tracks[lane].previousElementSibling.querySelector('b').textContent;
    title.textContent = (index + 1) + ' of ' + items.length + ': ' + type + (kind === 'chunk' ? ' (chunk)' : '')
      + ' at ' + time(at) + ', ' + named;
    json.textContent = JSON.stringify(value, null, 2);
    frame.parentElement.hidden = wire === undefined;
    if (wire !== undefined) frame.textContent = frames[wire];
    panel.hidden = false;
    place();
    if (!scrolls) return;
    const box = chart.getBoundingClientRect(), x = cursor.getBoundingClientRect().left;
    const names = tracks[lane].previousElementSibling.getBoundingClientRect();
    const free = names.height && innerWidth > 640 ? names.right : box.left;
    if (x < free + 8 || x > box.right - 8) chart.scrollLeft += x - (free + box.right) / 2;
    if (scrolls === 'horizontally') return;
    const { top, bottom } = tracks[lane].getBoundingClientRect();
    if (top < 0 || bottom > innerHeight) tracks[lane].scrollIntoView({ block: 'center', inline: 'nearest' });
  }
  function nearest(lane, at) {
    const list = byLane[lane];
    let best = -1;
    const distance = (index) => Math.abs(items[index][0] - at);
    for (const index of list) if (best < 0 || distance(index) < distance(best)) best = index;
    return best;
  }
  function step(by) {
    if (selected < 0) return select(by > 0 ? 0 : items.length - 1, true);
    select(selected + by, true);
  }
  function stepLane(by) {
    const [at, lane] = selected < 0 ? [0, -1] : items[selected];
    for (let next = lane + by; next >= 0 && next < tracks.length; next += by)
      if (byLane[next].length > 0) return select(nearest(next, at), true);
  }
  function drawAxis() {
    const power = 10 ** Math.floor(Math.log10(duration / zoom / 8));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => duration / zoom / each <= 8);
    plane.style.setProperty('--step', 100 * step / duration + '%');
    const indexes = [...Array(Math.floor(duration / step) + 1).keys()];
    root.querySelector('.ticks').replaceChildren(...indexes.map((index) => {
      const tick = document.createElement('span'), at = index * step;
      tick.textContent = Number((at < 1000 ? at : at / 1000).toFixed(3)) + (at < 1000 ? ' ms' : ' s');
      tick.className = (index % 2 ? 'minor' : '') + (at > duration * (1 - 0.04 / zoom) ? ' last' : '');
      tick.style.left = 100 * at / duration + '%';
      return tick;
    }));
  }
  function setZoom(next) {
    zoom = Math.min(256, Math.max(1, next));
    plane.style.setProperty('--zoom', zoom);
    drawAxis();
    place();
    if (selected >= 0) select(selected, true);
  }
  const keys = { ArrowRight: () => step(1), ArrowLeft: () => step(-1), ArrowDown: () => stepLane(1),
    ArrowUp: () => stepLane(-1), Home: () => select(0, true), End: () => select(items.length - 1, true),
    '+': () => setZoom(zoom * 2), '=': () => setZoom(zoom * 2), '-': () => setZoom(zoom / 2), '0': () => setZoom(1) };
  chart.addEventListener('keydown', (event) => {
    const action = !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  lanes.addEventListener('click', (event) => {
    const lane = tracks.indexOf(event.target.closest('.lane')?.querySelector('.track'));
    if (lane < 0) return;
    const { left, width } = tracks[lane].getBoundingClientRect();
    const isName = event.target.closest('.name');
    const index = isName ? byLane[lane][0] ?? -1 : nearest(lane, (event.clientX - left) / width * duration);
    select(index, false);
  });
  root.querySelector('.zoom-in').addEventListener('click', () => setZoom(zoom * 2));
  root.querySelector('.zoom-out').addEventListener('click', () => setZoom(zoom / 2));
  function fillTable() {
    const body = table.querySelector('tbody');
    if (body.rows.length > 0) return;
    body.append(...rows.map(([depth, ...cells]) => {
      const row = document.createElement('tr');
      for (const [index, text] of cells.entries()) {
        const cell = row.insertCell();
        cell.textContent = text;
        cell.className = index === 1 || index === 2 ? 'number' : index === 5 ? 'optional' : '';
        if (index === 0) cell.style.paddingLeft = depth * 0.8 + 'rem';
      }
      return row;
    }));
  }
  table.addEventListener('toggle', fillTable);
  const onResize = () => place(), onPrint = () => { fillTable(); table.open = true; };
  addEventListener('resize', onResize);
  addEventListener('beforeprint', onPrint);
  return { select, until, setZoom, get selected() { return selected; }, get zoom() { return zoom; },
    leave: () => { removeEventListener('resize', onResize); removeEventListener('beforeprint', onPrint); },
  };
}
`;

export const pageScript = (): string => `${drawingScript}
startDrawing(document.body, JSON.parse(document.getElementById('data').textContent));
`;
