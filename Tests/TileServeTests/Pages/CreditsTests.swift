import TestSupport
import Testing

@testable import TileServe

@Suite(.ownThread) struct CreditsTests {
  private static func link(_ url: String, _ text: String) -> String {
    "<a href=\"\(url)\" rel=\"noopener noreferrer\" target=\"_blank\">\(text)</a>"
  }

  @Test(arguments: [
    ("plain", "plain"), ("A & B", "A &amp; B"), ("1 < 2 > 0", "1 &lt; 2 &gt; 0"),
    ("&copy; OSM &#169;&#xA9;", "© OSM ©©"),
    ("<a href=\"https://x.example/a?b=1&amp;c=2\">X</a>", link("https://x.example/a?b=1&amp;c=2", "X")),
    ("<A HREF=http://x.example>X</A> y", link("http://x.example", "X") + " y"),
    ("<a class='c' href='//x.example/'>X</a>", link("https://x.example/", "X")),
    ("<a href=\"javascript:alert(1)\">X</a>", "X"), ("<a href=\" java\nscript:alert(1)\">X</a>", "X"),
    ("<a href=\"&#106;avascript:alert(1)\">X</a>", "X"), ("<a href='data:text/html,x'>X</a>", "X"),
    ("<a href=\"https://x.example/&quot;onclick=&quot;a\">X</a>", link("https://x.example/&quot;onclick=&quot;a", "X")),
    ("<a title=\"href=https://no.example\">X</a>", "X"), ("<a href=\"/local\">X</a>", "X"),
    ("<script>alert(1)</script>after", "after"), ("<SCRIPT src=x>alert(1)</sCripT >after", "after"),
    ("<style>b{}</style>x", "x"),
    ("<script>never closed", ""), ("<img src=x onerror=alert(1)>x", "x"), ("<!-- <b> -->x", "x"),
    ("a<br>b<br/>c", "a b c"),
    ("<b>bold <i>both</i></b>", "bold both"), ("<a href=https://x.example>open", link("https://x.example", "open")),
    ("<b title='>'>x</b>", "x"), ("<", "&lt;"), ("&", "&amp;"), ("&unknown;", "&amp;unknown;"), ("<a", ""), ("", ""),
    ("Data: <https://x.example/a?b&c>", "Data: " + link("https://x.example/a?b&amp;c", "https://x.example/a?b&amp;c")),
    ("<HTTP://x.example>", link("HTTP://x.example", "HTTP://x.example")),
    ("<a href='https://y.example'><http://x.example></a>", link("https://y.example", "http://x.example")),
    (
      "<https://x.example/\"onclick=\"a>",
      link("https://x.example/&quot;onclick=&quot;a", "https://x.example/&quot;onclick=&quot;a")
    ),
    ("<javascript:alert(1)>x", "x"), ("<http://open", ""), ("<https://x y>z", "z"),
    ("© <maps@x.example>", "© &lt;maps@x.example&gt;"), ("<www.x.example>", "&lt;www.x.example&gt;"),
  ])
  func areTextAndLinks(html: String, safe: String) {
    #expect(Credits(html: html).html == safe)
  }

  @Test func plainTextIsTheTextAlone() {
    #expect(Credits(html: "© <a href='https://x.example'>X</a> &amp; Y").plainText == "© X & Y")
  }
}
