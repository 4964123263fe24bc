/* The theme adds buttons and scroll areas as a page is read. Each button's group gets a name of its
   own, and a scroll area can be reached by the keyboard. */
const named = () => {
  document.querySelectorAll("nav.md-code__nav").forEach((group, at) => {
    group.setAttribute("aria-label", `Example ${at + 1}`);
  });
  document.querySelectorAll(".md-typeset__scrollwrap, pre > code").forEach((area) => {
    if (area.getAttribute("tabindex") !== "0") area.setAttribute("tabindex", "0");
  });
};
new MutationObserver(named).observe(document.body, {
  attributeFilter: ["tabindex"],
  childList: true,
  subtree: true,
});
named();
