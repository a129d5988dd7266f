import "../style/page.css";
console.log("x");
