/** The hashes of `pageScript` and `drawingStyle`: a spec compares them. `style-src-attr` is for spans. */
export const pagePolicy = /* @__PURE__ */ [
  "default-src 'none'",
  "script-src 'sha256-zx2jUMKXnlel+e5KtpepzUFRCUqUFJ+Jzy7nx7n70oA='",
  "style-src 'sha256-jmgCavXMFwIQQH06ptbJBkGv1yTQzpLdtwIE68b1990='",
  "style-src-attr 'unsafe-inline'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');
