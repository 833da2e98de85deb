/** Light or dark, and the colour of buttons and links. Both are kept for the next visit. */
export type Theme = 'light' | 'dark';

/** Applies what was chosen at an earlier visit; by default, the theme of the system. */
export function restoreTheme(): Theme {
  const systemTheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  const stored = localStorage.getItem('theme');
  const colour = localStorage.getItem('colour');
  if (colour !== null) applyColour(colour);
  if (stored !== 'light' && stored !== 'dark') return systemTheme;
  applyTheme(stored);
  return stored;
}

export function applyTheme(theme: Theme): void {
  localStorage.setItem('theme', theme);
  document.documentElement.style.colorScheme = theme;
}

export function applyColour(colour: string): void {
  if (!CSS.supports('color', colour)) return;
  localStorage.setItem('colour', colour);
  const brighter = `color-mix(in oklab, ${colour}, white 50%)`;
  document.documentElement.style.setProperty('--accent', `light-dark(${colour}, ${brighter})`);
}
