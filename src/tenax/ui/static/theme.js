// Sets the chosen theme before the page is drawn, so that it does not flash.
"use strict";
try {
  const theme = localStorage.getItem("tenax-theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be switched off. The theme of the system is used then.
}
document.documentElement.dataset.scripts = "on";
