/// An amount as stores state it: thousandths of the currency's main unit (10990 is 10.99 USD).
public struct Money: Sendable, Hashable, Codable {
  public var milliunits: Int64
  /// ISO 4217, upper case.
  public var currency: String

  public init(milliunits: Int64, currency: String) {
    self.milliunits = milliunits
    self.currency = currency
  }
}

extension Money: Comparable {
  public static func < (a: Self, b: Self) -> Bool {
    a.milliunits == b.milliunits
      ? a.currency.utf8.lexicographicallyPrecedes(b.currency.utf8) : a.milliunits < b.milliunits
  }
}

extension Money {
  /// The codes of ISO 4217 as stores write them, in capitals; also those that were withdrawn since stores sell apps (2008), which old evidence names.
  static let currencies = Set(
    """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD
    CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP
    GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK
    LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR
    PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL
    THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA
    XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG
    BYR CUC EEK HRK LTL LVL MRO SKK SLL STD TMM USS VEF XFU ZMK ZWD ZWL ZWR
    """.split(whereSeparator: \.isWhitespace).map(String.init))
}
