// @ts-check
/** Gives a figure the colours of the page's theme. Pure: knows no document. */

/**
 * A copy of the figure in which each trace has the colour its `meta` names.
 * @param {{data: any[], layout: any}} figure
 * @param {(token: string) => string} colour the value of a design token
 * @returns {{data: any[], layout: any}}
 */
export function colouredFigure(figure, colour) {
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
    if (/^[xy]axis\d*$/.test(name)) layout[name] = { ...figure.layout[name], ...axis };
  }
  const data = figure.data.map((trace) => {
    const own = colour(trace.meta);
    return trace.mode === "markers"
      ? { ...trace, marker: { ...trace.marker, color: own, line: { color: colour("bg"), width: 1 } } }
      : { ...trace, line: { ...trace.line, color: own } };
  });
  return { data, layout };
}
