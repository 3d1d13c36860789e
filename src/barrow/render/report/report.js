"use strict";
// Saving tables. Without this file the report says the same.
(() => {
  document.querySelectorAll("[data-save]").forEach(button => {
    button.closest(".tools").hidden = false;
    button.addEventListener("click", () => {
      const text = JSON.parse(document.getElementById(button.dataset.save).textContent);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
      link.download = button.dataset.name;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  });
})();
