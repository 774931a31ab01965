// @ts-check
/** Gives a figure the colours of the page's theme and the room it has. Pure: knows no document. */

const LABEL_PIXELS = 56;

/**
 * A copy of the figure in which each trace has the colour its `meta` names and labels have room.
 * @param {{data: any[], layout: any}} figure
 * @param {(token: string) => string} colour the value of a design token
 * @param {number} width of the figure in pixels
 * @returns {{data: any[], layout: any}}
 */
export function fittedFigure(figure, colour, width) {
  const axis = {
    gridcolor: colour("chart-grid"),
    linecolor: colour("line-strong"),
    tickcolor: colour("line-strong"),
  };
  const layout = {
    ...figure.layout,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("text"), size: 12, family: colour("font") },
    hoverlabel: {
      bgcolor: colour("surface"),
      bordercolor: colour("line-strong"),
      font: { color: colour("text"), family: colour("mono"), size: 12 },
      align: "left",
    },
  };
  for (const name of Object.keys(figure.layout)) {
    if (/^[xy]axis\d*$/.test(name)) layout[name] = { ...thinnedTicks(figure.layout[name], width), ...axis };
  }
  const data = figure.data.map((trace) => {
    const own = colour(trace.meta);
    return trace.mode === "markers"
      ? { ...trace, marker: { ...trace.marker, color: own, line: { color: colour("bg"), width: 1 } } }
      : { ...trace, line: { ...trace.line, color: own } };
  });
  return { data, layout };
}

/**
 * An axis with as many of its own labels as fit side by side.
 * @param {any} axis
 * @param {number} width
 */
export function thinnedTicks(axis, width) {
  if (!axis.tickvals) return axis;
  const step = Math.max(1, Math.ceil((axis.tickvals.length * LABEL_PIXELS) / Math.max(width, 1)));
  const kept = (/** @type {any[]} */ list) => list.filter((_, position) => position % step === 0);
  return { ...axis, tickvals: kept(axis.tickvals), ticktext: kept(axis.ticktext), tickangle: 0 };
}
