// Draws the page that the data is for.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.body.append(tip);
  ({ job: drawJobPage, cache: drawCachePage, study: drawStudyPage })[data.page](data);
})();
