import Foundation
import TestSupport
import Testing

extension BrowserTests {
  /// A file that is dropped on the map, as a browser tells a page of it.
  private func drop(_ map: MapPage, _ name: String, _ text: String) throws {
    let bytes = Data(text.utf8).base64EncodedString()
    try map.page.evaluateVoid(
      """
      (() => {
        const data = new DataTransfer();
        const bytes = Uint8Array.from(atob("\(bytes)"), (letter) => letter.charCodeAt(0));
        data.items.add(new File([bytes], "\(name)"));
        const event = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
        document.getElementById("map").dispatchEvent(event);
      })()
      """)
    try map.page.settle("document.getElementById('track-status').textContent.startsWith('\(name)')")
    try map.settle()
  }

  @Test(.enabled(if: hasLeaflet, .init(rawValue: leafletMessage)))
  func droppedTracksAreDrawn() throws {
    let server = try RunningServer(SampleBundles.folders())
    let map = try MapPage(server, "jacksboro-fault")
    let before = try map.state()
    try drop(
      map, "trip.gpx",
      """
      <?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1"><wpt lat="36.58" lon="-84.25">
      <name>&lt;img src=x onerror=alert(1)&gt;</name></wpt><trk><name>Trip</name><trkseg>
      <trkpt lat="36.56" lon="-84.30"/><trkpt lat="36.60" lon="-84.26"><extensions><o:seen xmlns:o="http://example.org">
      <trkpt lat="46" lon="-80"/></o:seen></extensions></trkpt><trkpt lat="36.62" lon="-84.20"/>
      </trkseg></trk></gpx>
      """)
    // A casing, the track, and the place.
    let shapes =
      "document.querySelectorAll('.leaflet-overlay-pane path[stroke=\"#be1e4b\"], "
      + ".leaflet-overlay-pane path[fill=\"#be1e4b\"]').length"
    #expect(try map.page.evaluate(shapes, as: Int.self) == 2)
    let after = try map.state()
    #expect(after.zoom >= before.zoom && after.center != before.center)
    #expect(abs(after.center[0] + 84.25) < 0.02 && abs(after.center[1] - 36.59) < 0.02)
    try Screenshots.take(map.page, "viewer-track")
    // Another file takes its place; one that is none does not.
    try drop(map, "place.geojson", #"{"type": "Point", "coordinates": [-84.2, 36.6]}"#)
    #expect(try map.page.evaluate(shapes, as: Int.self) == 1)
    // The members of a collection are drawn by their kinds.
    try drop(
      map, "both.geojson",
      """
      {"type": "GeometryCollection", "geometries": [{"type": "Point", "coordinates": [-84.2, 36.6]},
        {"type": "LineString", "coordinates": [[-84.3, 36.5], [-84.2, 36.6]]}]}
      """)
    #expect(try map.page.evaluate(shapes, as: Int.self) == 2)
    try drop(map, "place.geojson", #"{"type": "Point", "coordinates": [-84.2, 36.6]}"#)
    map.expectClean()
    // The browser itself complains of the page that its parser makes of broken XML.
    try drop(map, "broken.gpx", "<gpx><trk></gpx>")
    let words = try map.page.evaluate("document.getElementById('track-status').innerText", as: String.self)
    #expect(words == "broken.gpx cannot be shown: it is not well-formed XML")
    #expect(try map.page.evaluate(shapes, as: Int.self) == 1)
    #expect(try map.page.evaluate("document.querySelectorAll('#map img[src=x]').length", as: Int.self) == 0)
  }
}
