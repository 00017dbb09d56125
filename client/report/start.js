// Draws the page that the data is for.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.body.append(tip);
  if (data.page === "job") drawJobPage(data); else drawCachePage(data);
})();
