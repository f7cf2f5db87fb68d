/// An exception report (OGC 06-121r3, section 8), which WMTS clients get instead of an answer.
package enum OWSException {
  /// - Parameters:
  ///   - code: one of the codes of the specification, such as `InvalidParameterValue`.
  ///   - locator: the parameter at fault.
  ///   - text: what is wrong and what would be right.
  package static func document(code: String, locator: String? = nil, text: String) -> [UInt8] {
    var xml = XMLWriter()
    let root: KeyValuePairs = [
      "xmlns": "http://www.opengis.net/ows/1.1", "version": "1.1.0", "xml:lang": "en",
    ]
    xml.element("ExceptionReport", root) { xml in
      if let locator {
        xml.element("Exception", ["exceptionCode": code, "locator": locator]) { xml in
          xml.element("ExceptionText", text: text)
        }
      } else {
        xml.element("Exception", ["exceptionCode": code]) { xml in xml.element("ExceptionText", text: text) }
      }
    }
    return xml.bytes
  }
}
