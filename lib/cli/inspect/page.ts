/** It loads a script and a style sheet from its own server, and nothing else. */
export const inspectorPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Rivulet inspector</title>
<link rel="stylesheet" href="/inspector.css">
<script src="/inspector.js" defer></script>
<body class="inspector">
<nav aria-label="Runs">
<div class="heading"><h2>Runs</h2><p class="connection" role="status">Connecting</p></div>
<ul class="runs"></ul>
</nav>
<main>
<div class="empty">
<h1>No runs yet</h1>
<p>Pass the address that <code>npx rivulet inspect</code> printed to <code>inspectRuns</code>:</p>
<pre>import { inspectRuns } from 'rivulet/recording';

const agent = inspectRuns(createAgent({ model, tools }), address);</pre>
<p>The next runs of the agent appear here. To see recorded runs: <code>npx rivulet inspect runs.jsonl</code>.</p>
</div>
<div class="shown" hidden>
<div class="actions">
<button class="copy">Copy as marble spec</button>
<label>for <select class="runner"><option>vitest</option><option>jest</option><option>node</option></select></label>
<button class="replay">Replay in virtual time</button>
<button class="save">Save recording</button>
<span class="message" role="status"></span>
</div>
<section class="spec" hidden aria-label="Spec">
<div class="heading"><h2>Spec</h2><button class="close-spec">Close</button></div>
<pre class="spec-text" tabindex="0"></pre>
</section>
<section class="player" hidden aria-label="Replay in virtual time">
<div class="heading"><h2>Replay in virtual time</h2><p class="verdict" role="status"></p>
<button class="close-player">Close</button></div>
<div class="controls">
<button class="back" title="One event back">← Step</button>
<button class="play">Play</button>
<button class="forward" title="One event forward">Step →</button>
<label>Speed <select class="speed"><option value="0.1">0.1</option><option value="0.5">0.5</option>
<option value="1" selected>1</option><option value="4">4</option><option value="16">16</option></select></label>
<input class="position" type="range" min="0" step="any" value="0" aria-label="Virtual time">
<output class="clock"></output>
</div>
<div class="transcript" tabindex="0" aria-label="What the run has emitted so far"></div>
</section>
<p class="problem" role="alert" hidden></p>
<div class="drawing"></div>
</div>
</main>
</body>
</html>
`;
